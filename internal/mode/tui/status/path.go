package status

import (
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

// longPath is how many cells a path has at most, however much room there is.
const longPath = 48

func drawPath(p *pen, f *Facts) {
	if f.Dir == "" {
		return
	}
	p.icon("\uf07b ")
	p.put(shortPath(f.Dir, f.Home, longPath, p.ellipsis()), theme.StatusLinePath)
}

// shortPath is a folder for reading in so many cells: with "~" for the home folder,
// then without folders in the middle (~/a/…/z), then its last one, then that one cut.
func shortPath(dir, home string, cells int, ellipsis string) string {
	path := filepath.ToSlash(dir)
	if home = strings.TrimSuffix(filepath.ToSlash(home), "/"); home != "" {
		if rest, ok := strings.CutPrefix(path, home); ok && (rest == "" || rest[0] == '/') {
			path = "~" + rest
		}
	}
	path = prose.Inline(path)
	if styled.Width(path) <= cells {
		return path
	}
	head, rest := path, 0 // the first two names, and where what follows begins
	if i := strings.IndexByte(path, '/'); i >= 0 {
		if j := strings.IndexByte(path[i+1:], '/'); j >= 0 {
			rest = i + 1 + j
			head = path[:rest+1]
		}
	}
	if rest > 0 {
		room := cells - styled.Width(head) - styled.Width(ellipsis)
		for { // as many folders at the end as fit
			i := strings.IndexByte(path[rest+1:], '/')
			if i < 0 {
				break
			}
			rest += 1 + i
			if styled.Width(path[rest:]) <= room {
				return head + ellipsis + path[rest:]
			}
		}
	}
	last := path[strings.LastIndexByte(path, '/')+1:]
	if len(last) < len(path) && styled.Width(last)+styled.Width(ellipsis)+1 <= cells {
		return ellipsis + "/" + last
	}
	return cut(last, cells, ellipsis)
}
