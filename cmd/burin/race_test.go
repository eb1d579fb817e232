//go:build race

package main

// raced is that the race detector is on, which takes memory and time.
const raced = true
