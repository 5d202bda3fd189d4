package main

import "testing"

func TestWord(t *testing.T) {
	if word != "A" {
		t.Fatal(word)
	}
}
