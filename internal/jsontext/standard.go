package jsontext

import "bytes"

// Standard gives JSON without what editors' settings have beyond it: comments, and commas
// before a closing bracket. They become blanks, so that every position stays what it was.
func Standard(in []byte) []byte {
	out := bytes.Clone(in)
	comma := -1 // the last one, with nothing but blanks behind it
	for i := 0; i < len(out); i++ {
		switch rest := out[i:]; {
		case rest[0] == '"':
			n := End(rest[1:])
			if n < 0 {
				return out
			}
			i += n + 1
			comma = -1
		case bytes.HasPrefix(rest, []byte("//")), bytes.HasPrefix(rest, []byte("/*")):
			end, more := "\n", 0
			if rest[1] == '*' {
				end, more = "*/", 2
			}
			n := bytes.Index(rest[2:], []byte(end))
			if n < 0 {
				n, more = len(rest)-2, 0
			}
			for j := range rest[:2+n+more] {
				if rest[j] != '\n' {
					rest[j] = ' '
				}
			}
			i += 1 + n + more
		case rest[0] == ',':
			comma = i
		case rest[0] == '}' || rest[0] == ']':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
		case rest[0] > ' ':
			comma = -1
		}
	}
	return out
}
