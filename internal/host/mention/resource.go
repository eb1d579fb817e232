package mention

import (
	"strings"
	"unicode/utf8"
)

// Resource is a resource of a server that a text names: "@server:uri", or `@"server:uri"` where
// the address has spaces.
type Resource struct {
	Server, URI string
}

// String is the resource as it is written, without quotes.
func (r Resource) String() string { return "@" + r.Server + ":" + r.URI }

// Resources finds the resources that a text names, of servers that are known, each once and at
// most 64 of them. Punctuation after an address does not belong to it, unless it closes what the
// address opens or stands between quotes.
func Resources(text string, known func(server string) bool) (found []Resource) {
	seen := map[Resource]bool{}
	for line := range strings.Lines(text) {
		at := 0
		for strings.Contains(line[at:], "@") && len(found) < maxMentions {
			w := Next(line, at)
			at = w.End
			if w.Quoted && (!w.At || !w.Closed) {
				at = w.Start + strings.IndexByte(line[w.Start:], '"') + 1 // there may be some within
				continue
			}
			server, uri, ok := strings.Cut(w.Text, ":")
			if !w.At || !ok || strings.HasPrefix(server, "@") || !known(server) {
				continue
			}
			if !w.Quoted {
				uri = bare(uri)
			}
			r := Resource{Server: server, URI: uri}
			if uri != "" && !seen[r] {
				seen[r] = true
				found = append(found, r)
			}
		}
	}
	return found
}

// bare is an address without the punctuation of the sentence that it ends.
func bare(uri string) string {
	for uri != "" {
		last, n := utf8.DecodeLastRuneInString(uri)
		opens := map[rune]string{')': "(", ']': "[", '}': "{"}[last]
		switch {
		case opens != "" && strings.Count(uri, opens) >= strings.Count(uri, string(last)):
			return uri
		case opens == "" && !strings.ContainsRune(".,;:!?>'\"`…”’", last):
			return uri
		}
		uri = uri[:len(uri)-n]
	}
	return ""
}
