//go:build !race

package conformance

import "github.com/burin-dev/burin/internal/pacetest"

// raceEnabled makes the long measurements shorter: with the detector on they
// take ten times as long and figures mean little.
const raceEnabled = false

// stride is the distance of the bytes at which answers are cut and damaged.
func stride() int { return pacetest.Long(7, 1, 1) }
