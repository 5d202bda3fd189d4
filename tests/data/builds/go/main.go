package main

import "fmt"

//go:generate sh -c "printf 'package main\n\nconst word = `%s`\n' A > word.go"

func main() { fmt.Println("says", word) }
