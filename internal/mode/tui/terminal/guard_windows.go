package terminal

import "os"

// guard is nothing here: the console restores itself when its last program ends.
type guard struct{}

func startGuard(*os.File, *state, string) (*guard, error) { return &guard{}, nil }

func (*guard) tell(string) {}

func (*guard) end() {}

// Main has nothing to run here.
func Main() {}
