package pacetest

import (
	"os"
	"testing"
	"time"
)

// Long chooses how long a test works. A person waits for the first size; with BURIN_LONG=ci
// a test takes seconds more, and with BURIN_LONG=1 as long as it is worth.
func Long[T any](usual, ci, whole T) T {
	switch os.Getenv("BURIN_LONG") {
	case "1":
		return whole
	case "ci":
		return ci
	}
	return usual
}

// Cases chooses how many of its cases a test tries: a few that differ most, or all of them with
// any BURIN_LONG, as all tests of CI have it. BURIN_LONG=cases means that and nothing else.
func Cases[T any](few, all T) T {
	if os.Getenv("BURIN_LONG") == "" {
		return few
	}
	return all
}

// Costly skips a test that takes long and shows what others show in a smaller way, unless all
// cases are to be tried; see [Cases].
func Costly(t testing.TB) {
	t.Helper()
	if Cases(true, false) {
		t.Skip("it takes long: set BURIN_LONG=cases")
	}
}

// Within is a limit of time as it is held: where the machine is said to be quiet, with
// BURIN_BUDGETS=1, as it is, and elsewhere so generously that only what hangs exceeds it.
func Within(limit time.Duration) time.Duration {
	if os.Getenv("BURIN_BUDGETS") == "1" {
		return limit
	}
	return max(20*limit, 10*time.Second)
}
