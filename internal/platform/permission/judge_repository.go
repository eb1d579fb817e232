package permission

import (
	"errors"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"
)

// github is the tool whose rules hold for what is read of a repository behind an address such as
// issue://5. It has a name of its own, as such a request may carry the user's account: who lets
// fetch ask a host has not given away every private repository there.
const github = "github"

// repositoryOf is the repository that a request for an address asks about: owner/name, of GitHub
// Enterprise host/owner/name; "" if it asks about none, because the address is not valid.
func repositoryOf(to string) string {
	u, err := url.Parse(to)
	if err != nil {
		return ""
	}
	before, rest, _ := strings.Cut(u.Path, "/repos/")
	parts := strings.Split(rest, "/")
	if len(parts) < 3 {
		return ""
	}
	name := strings.ToLower(parts[0] + "/" + parts[1])
	if before == "/api/v3" {
		name = strings.ToLower(u.Host) + "/" + name
	}
	return name
}

// request judges a request to another machine by the tool that makes it.
func (j *judge) request(name, to string) finding {
	if familyOf(name) != "read" {
		return j.host(name, to)
	}
	repository := repositoryOf(to)
	if repository == "" {
		return j.host("fetch", to)
	}
	f := finding{Part: Part{Text: to}}
	host, port, _ := target(to)
	for _, c := range j.rules {
		refuses := order(c.Verdict) < 2 && c.is("fetch") && (c.bare() || c.matchHost(host, port))
		if refuses || c.is(github) && (c.bare() || c.matchRepository(repository)) {
			f.ruled(c)
			return f
		}
	}
	if j.mode == Full {
		f.Verdict, f.Reason = Allow, j.modeAllows()
		return f
	}
	owner, _ := path.Split(repository)
	f.ask("it reads "+repository+" at "+host, Rule{Tool: github, Pattern: repository}, Rule{Tool: github, Pattern: owner + "*"})
	return f
}

var repositoryPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([\w.:-]+/)?[\w.-]+/([\w.-]+|\*)$`) })

func (c *compiled) compileRepository() error {
	if !repositoryPattern().MatchString(c.Pattern) {
		return errors.New("write github(owner/name), or github(owner/*) for all repositories of an owner")
	}
	c.repository = strings.ToLower(c.Pattern)
	return nil
}

func (c *compiled) matchRepository(name string) bool {
	if owner, all := strings.CutSuffix(c.repository, "*"); all {
		return strings.HasPrefix(name, owner) && !strings.Contains(name[len(owner):], "/")
	}
	return c.repository != "" && name == c.repository
}

// whatRepository says which repositories the rule is for.
func (c *compiled) whatRepository() string {
	if owner, all := strings.CutSuffix(c.repository, "/*"); all {
		return "issues and pull requests of all repositories of " + owner
	}
	return "issues and pull requests of " + c.repository
}
