package discover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// keyFile is a file of another program with API keys.
type keyFile struct {
	program, path string
	// read gives the keys by provider. It is called again for the import.
	read func(path string) (map[string]string, error)
}

// keys adds a finding for the API keys of a file, as far as burin knows the providers.
// It reports whether there is one.
func (s *search) keys(k keyFile) bool {
	found, err := k.read(k.path)
	if err != nil {
		return false
	}
	ids := s.usable(found)
	if len(ids) == 0 {
		return false
	}
	f := Finding{Kind: Keys, Program: k.program, Path: k.path, Providers: ids, What: "API keys for " + listed(ids) + "."}
	if len(ids) == 1 {
		f.What = "An API key for " + ids[0] + "."
	}
	if s.o.Store != nil {
		f.Import = func(ctx context.Context) (string, error) { return s.importKeys(ctx, k) }
	}
	s.add(f)
	return true
}

// usable lists the providers whose keys can be taken over.
func (s *search) usable(keys map[string]string) []string {
	var ids []string
	for id, key := range keys {
		if s.catalog.Registry.Knows(id) && plain(key) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// plain says that a text is a key itself: not empty, not the name of a variable, not a
// command that prints one.
func plain(key string) bool {
	if len(key) < 8 || len(key) > 4096 || strings.HasPrefix(key, "!") || strings.ContainsAny(key, "${}") {
		return false
	}
	name := strings.ToUpper(key) == key && strings.Contains(key, "_") && !strings.Contains(key, "-")
	return !name && !strings.ContainsFunc(key, func(r rune) bool { return r > unicode.MaxASCII || r <= ' ' || r == 0x7f })
}

func (s *search) importKeys(ctx context.Context, k keyFile) (string, error) {
	keys, err := k.read(k.path)
	if err != nil {
		return "", fmt.Errorf("read the keys of %s: %w", k.program, err)
	}
	ids := s.usable(keys)
	if len(ids) == 0 {
		return "", fmt.Errorf("%s holds no key any more", k.path)
	}
	var added, had []string
	var failed error
	for _, id := range ids {
		switch ok, err := s.o.Store.SetKey(ctx, id, k.program, keys[id]); {
		case err != nil:
			failed = errors.Join(failed, fmt.Errorf("store the key for %s: %w", id, err))
		case ok:
			added = append(added, id)
		default:
			had = append(had, id)
		}
	}
	var parts []string
	if len(added) > 0 {
		parts = append(parts, "stored for "+listed(added))
	}
	if len(had) > 0 {
		parts = append(parts, "stored before for "+listed(had))
	}
	if len(parts) == 0 {
		return "", failed
	}
	return "Keys of " + k.program + ": " + strings.Join(parts, "; ") + ".", failed
}

// login adds a finding for a login that stays where it is.
func (s *search) login(program, path string) {
	s.add(Finding{
		Kind: Login, Program: program, Path: path,
		What: "A login, which stays with " + program + ": burin does not use logins of other programs.",
	})
}

// listed is "a", "a and b", "a, b and c", or, of many, "a, b, c and 4 more".
func listed(words []string) string {
	const most = 5
	switch n := len(words); {
	case n == 0:
		return "nothing"
	case n == 1:
		return words[0]
	case n > most:
		return strings.Join(words[:most-1], ", ") + fmt.Sprintf(" and %d more", n-most+1)
	default:
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
}
