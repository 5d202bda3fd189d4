#!/bin/sh
[ "$("$1")" = "says 2 words, 1" ]
