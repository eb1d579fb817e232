package awsauth

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// profiles are the sections of the config and the credentials file by name: "work" for a
// profile, "sso-session x" and "services x" for the others. A setting below another one
// (endpoint_url below sts) has both names, with a dot between them.
type profiles map[string]section

type section map[string]string

// errNoProfile means that a profile is in neither file.
var errNoProfile = errors.New("the profile does not exist")

// readProfiles reads both files. A file that is not there is empty. What the credentials file
// says wins.
func (a *Auth) readProfiles() (profiles, error) {
	home, _ := os.UserHomeDir() // without a home the files are not found
	all := profiles{}
	for _, file := range []struct{ variable, name string }{{"AWS_CONFIG_FILE", "config"}, {"AWS_SHARED_CREDENTIALS_FILE", "credentials"}} {
		path := cmp.Or(a.options.Getenv(file.variable), filepath.Join(home, ".aws", file.name))
		raw, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("read AWS profiles: %w", err)
		}
		for name, s := range parse(string(raw)) {
			if file.name == "config" {
				kind, profile, spaced := strings.Cut(name, " ")
				switch {
				case spaced && kind == "profile":
					name = strings.TrimSpace(profile)
				case !spaced && name != "default", spaced && kind != "sso-session" && kind != "services":
					continue // only the credentials file names profiles without "profile"
				}
			}
			// Half a pair must not be completed by the other file.
			if s["aws_access_key_id"] == "" || s["aws_secret_access_key"] == "" {
				delete(s, "aws_access_key_id")
				delete(s, "aws_secret_access_key")
				delete(s, "aws_session_token")
			} else if all[name] != nil {
				delete(all[name], "aws_session_token") // belongs to the other keys
			}
			if all[name] == nil {
				all[name] = section{}
			}
			maps.Copy(all[name], s)
		}
	}
	return all, nil
}

// get finds a profile. The default one need not exist.
func (p profiles) get(name string) (section, error) {
	s, ok := p[name]
	if !ok && name != "default" {
		return nil, errNoProfile
	}
	return s, nil
}

// parse reads the format of AWS's files: sections in brackets, settings with = or :, and
// indented settings that belong to the one above them. Like the AWS tools it is lenient.
func parse(text string) profiles {
	all := profiles{}
	var s section
	var above string // the setting that indented ones belong to
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';' {
			continue
		}
		if trimmed[0] == '[' {
			if i := strings.IndexByte(trimmed, ']'); i > 0 {
				name := strings.Join(strings.Fields(trimmed[1:i]), " ")
				if all[name] == nil {
					all[name] = section{}
				}
				s, above = all[name], ""
			}
			continue
		}
		i := strings.IndexAny(trimmed, "=:")
		if i < 0 || s == nil {
			continue
		}
		key, value := strings.ToLower(strings.TrimSpace(trimmed[:i])), strings.TrimSpace(trimmed[i+1:])
		for _, comment := range []string{" #", " ;", "\t#", "\t;"} {
			value, _, _ = strings.Cut(value, comment)
		}
		value = strings.TrimSpace(value)
		if n := len(value); n > 1 && value[0] == value[n-1] && (value[0] == '"' || value[0] == '\'') {
			value = value[1 : n-1]
		}
		switch indented := line[0] == ' ' || line[0] == '\t'; {
		case indented && above != "":
			key = above + "." + key
		case value == "":
			above = key
		default:
			above = ""
		}
		s[key] = value
	}
	return all
}
