package smallfile

import (
	"bytes"
	"fmt"
)

// MaxNesting is how deep YAML may nest. Nobody writes that by hand, and the parser's cost
// grows with the square of the depth: 64 KB of "[" would take gigabytes.
const MaxNesting = 100

// CheckNesting refuses YAML that nests deeper than [MaxNesting], with its line. It looks
// at brackets, indentation and signs that begin something within a line, and counts what
// stands in comments and texts too, where no person gets near the limit.
func CheckNesting(yaml []byte) error {
	var indents []int
	flow, number := 0, 0
	for line := range bytes.Lines(yaml) {
		number++
		text := bytes.TrimLeft(line, " \t")
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		indent := len(line) - len(text)
		for len(indents) > 0 && indents[len(indents)-1] >= indent {
			indents = indents[:len(indents)-1]
		}
		indents = append(indents, indent)
		begun, most := 0, 0
		for _, c := range text {
			switch c {
			case '[', '{':
				flow++
			case ']', '}':
				flow = max(flow-1, 0)
			case '-', '?', '!', '&', '*':
				begun++ // of a run of these with blanks between them, each may nest
				most = max(most, begun)
			case ' ', '\t':
			default:
				begun = 0
			}
			if flow > MaxNesting {
				break
			}
		}
		if max(len(indents), flow) > MaxNesting || most > 10*MaxNesting {
			return fmt.Errorf("%d:1: nested deeper than %d levels", number, MaxNesting)
		}
	}
	return nil
}
