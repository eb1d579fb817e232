package complete

import (
	"strings"
	"unicode"
)

// quote writes a path as a word of prose. A folder that needs quotes is left open,
// since it goes on. It is false for a path that no word can be.
func quote(path string) (string, bool) {
	if strings.ContainsFunc(path, unprintable) {
		return "", false
	}
	if !strings.ContainsFunc(path, unicode.IsSpace) && !strings.HasPrefix(path, `"`) {
		return path, true
	}
	if strings.Contains(path, `"`) {
		return "", false
	}
	if strings.HasSuffix(path, "/") {
		return `"` + path, true
	}
	return `"` + path + `"`, true
}
