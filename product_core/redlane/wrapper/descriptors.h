/* Nothing of ours on 0, 1 or 2, nothing left open. */
#pragma once

#include "bytes.h"

int out_of_the_way(int descriptor);
int memory_file(const struct bytes *content);
