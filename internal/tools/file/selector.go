package file

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/sorting"
)

// span is a range of lines, 1-based and inclusive; to is 0 for an open end.
type span struct{ from, to int }

// selection says which part of a file to show.
type selection struct {
	spans     []span // sorted, without overlaps; empty is the whole
	raw       bool   // no line numbers, notebooks as JSON
	conflicts bool   // list merge conflicts instead
	most      int    // lines to show; 0 is maxLines
	exact     bool   // several ranges were asked for: no lines around them
}

// splitSelector takes a selector off the end of a path: ":12", ":12-", ":10-40",
// ":10+5", ":1-5,20-30", ":raw", ":conflicts" and combinations. What is no
// selector stays in the path.
func splitSelector(path string) (string, selection, error) {
	var sel selection
	for {
		i := strings.LastIndexByte(path, ':')
		if i <= 0 {
			return path, sel, nil
		}
		switch last := path[i+1:]; {
		case last == "raw" && !sel.raw:
			sel.raw = true
		case last == "conflicts" && !sel.conflicts:
			sel.conflicts = true
		case sel.spans == nil && looksLikeSpans(last):
			spans, err := parseSpans(last)
			if err != nil {
				return "", selection{}, err
			}
			sel.spans, sel.exact = spans, strings.Contains(last, ",")
		default:
			return path, sel, nil
		}
		path = path[:i]
	}
}

func looksLikeSpans(s string) bool {
	digit := false
	for _, r := range s {
		switch {
		case r >= '0' && r <= '9':
			digit = true
		case !strings.ContainsRune("-+,L", r):
			return false
		}
	}
	return digit
}

func parseSpans(s string) ([]span, error) {
	var spans []span
	for part := range strings.SplitSeq(s, ",") {
		sp, err := parseSpan(strings.ReplaceAll(part, "L", ""))
		if err != nil {
			return nil, fmt.Errorf("lines %q: %w", part, err)
		}
		spans = append(spans, sp)
	}
	return merge(spans), nil
}

func parseSpan(s string) (span, error) {
	sep := strings.IndexAny(s, "-+")
	first := s
	if sep >= 0 {
		first = s[:sep]
	}
	from, err := strconv.Atoi(first)
	if err != nil {
		return span{}, fmt.Errorf("want N, N-, N-M or N+COUNT")
	}
	if from < 1 {
		return span{}, fmt.Errorf("lines count from 1")
	}
	switch {
	case sep < 0 || s[sep:] == "-":
		return span{from: from}, nil
	case s[sep] == '+':
		n, err := strconv.Atoi(s[sep+1:])
		if err != nil || n < 1 {
			return span{}, fmt.Errorf("want N+COUNT with a count of at least 1")
		}
		return span{from, from + n - 1}, nil
	default:
		to, err := strconv.Atoi(s[sep+1:])
		if err != nil || to < from {
			return span{}, fmt.Errorf("want N-M with M not before N")
		}
		return span{from, to}, nil
	}
}

// merge sorts spans and joins those that touch.
func merge(spans []span) []span {
	sorting.Stable(spans, func(a, b span) int { return a.from - b.from })
	out := spans[:1]
	for _, s := range spans[1:] {
		last := &out[len(out)-1]
		switch {
		case last.to == 0:
			return out
		case s.from <= last.to+1:
			if s.to == 0 || s.to > last.to {
				last.to = s.to
			}
		default:
			out = append(out, s)
		}
	}
	return out
}
