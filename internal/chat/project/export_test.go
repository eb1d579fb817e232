package project

import "github.com/burin-dev/burin/transcript"

// Guard makes the store of a chat's records of one that is below.
func Guard(below transcript.Store) transcript.Store { return &guarded{below} }
