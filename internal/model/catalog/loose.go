package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// loose finds the model that a part of a name fits best. Models that can be
// used are looked at before those that cannot, and with usableOnly alone.
func (r *Resolver) loose(s string, usableOnly bool) (Choice, error) {
	models, query := r.registry.All(), strings.ToLower(s)
	if provider, rest, ok := strings.Cut(s, "/"); ok && rest != "" && r.registry.Knows(provider) {
		models = slices.DeleteFunc(slices.Clone(models), func(m *Model) bool { return m.Provider != provider })
		query = strings.ToLower(rest)
	}
	models = r.registry.enabled(slices.Clone(models))
	var usable []*Model
	for _, m := range models {
		if r.registry.Available(m) {
			usable = append(usable, m)
		}
	}
	if usableOnly {
		models = nil
	}
	for _, pool := range [][]*Model{usable, models} {
		if fits := bestFits(pool, query); len(fits) > 0 {
			return r.pick(s, fits)
		}
	}
	return Choice{}, r.notFound(s)
}

// pick chooses among equally good fits: variants of one model by preference,
// versions of one family by age, and a family before those that add a word to
// its name (opus before opus-fast). Anything else is for a person to decide.
func (r *Resolver) pick(s string, fits []*Model) (Choice, error) {
	fits = r.registry.preferred(fits)
	ix := r.registry.indexed()
	names := make([]modelName, len(fits))
	plainest := 0
	for i, m := range fits {
		names[i] = nameOf(cmp.Or(ix.groups().of[m], m.ID))
		if len(names[i].words) < len(names[plainest].words) {
			plainest = i
		}
	}
	base := names[plainest]
	best, versions := -1, map[string]bool{}
	for i, n := range names {
		if !n.has(base.words) {
			e := &AmbiguousError{Selector: s}
			for _, m := range fits {
				e.Candidates = append(e.Candidates, m.Ref())
			}
			return Choice{}, e
		}
		if len(n.words) > len(base.words) {
			continue
		}
		versions[n.id] = true
		if best < 0 || n.newer(names[best]) {
			best = i
		}
	}
	c := Choice{Model: fits[best], Note: fmt.Sprintf("%s is %s", s, fits[best].Ref())}
	if len(versions) > 1 {
		c.Note += fmt.Sprintf(", the newest of %d", len(versions))
	}
	return c, nil
}

// bestFits gives the models that fit the query best, all equally well.
func bestFits(models []*Model, query string) []*Model {
	words := wordsOf(query)
	if len(words) == 0 {
		return nil
	}
	plain := plainID(dashes(query))
	var fits []*Model
	best := noFit
	for _, m := range models {
		f := fitOf(m, query, plain, words)
		if f < best {
			best, fits = f, nil
		}
		if f == best && f != noFit {
			fits = append(fits, m)
		}
	}
	return fits
}

// Degrees of fitting, the best first.
const (
	fitPlain    = iota // the same but for dates and the like
	fitWords           // whole words in a row
	fitPart            // a part of the id
	fitName            // a part of the name
	fitAllWords        // all words, wherever
	noFit
)

func fitOf(m *Model, query, plain string, words []string) int {
	id := strings.ToLower(m.ID)
	short := dashes(id[strings.LastIndexByte(id, '/')+1:])
	have := wordsOf(id)
	name := strings.ToLower(m.Name)
	switch {
	case plainID(short) == plain:
		return fitPlain
	case containsRun(have, words):
		return fitWords
	case strings.Contains(id, query):
		return fitPart
	case strings.Contains(name, query):
		return fitName
	}
	all := append(have, wordsOf(name)...)
	all = append(all, strings.ToLower(m.Provider))
	for _, w := range words {
		if !slices.Contains(all, w) {
			return noFit
		}
	}
	return fitAllWords
}

// dashes writes versions with dashes: 4.6 is 4-6.
func dashes(s string) string { return strings.ReplaceAll(s, ".", "-") }

// wordsOf splits an id or a name into letters-and-digits words.
func wordsOf(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r > 127)
	})
}

func containsRun(have, want []string) bool {
	for i := 0; i+len(want) <= len(have); i++ {
		if slices.Equal(have[i:i+len(want)], want) {
			return true
		}
	}
	return false
}

// modelName is an id taken apart: what kind of model, which version, which date.
type modelName struct {
	words   []string // what names the family, in order of the alphabet
	version []int
	date    string
	id      string
}

func nameOf(id string) modelName {
	n := modelName{id: strings.ToLower(id)}
	text := plainID(n.id)
	n.date = strings.TrimPrefix(n.id, text)
	for _, w := range wordsOf(text[strings.LastIndexByte(text, '/')+1:]) {
		v, err := strconv.Atoi(w)
		switch {
		case err != nil:
			n.words = append(n.words, w)
		case len(w) >= 4: // 0905, 2507: a month
			n.date += w
		default:
			n.version = append(n.version, v)
		}
	}
	slices.Sort(n.words) // claude-3-5-sonnet and claude-sonnet-4-5 are one family
	return n
}

// has says whether all the words belong to the name.
func (n modelName) has(words []string) bool {
	for _, w := range words {
		if !slices.Contains(n.words, w) {
			return false
		}
	}
	return true
}

// sameFamily says whether two names differ in version and date only.
func (n modelName) sameFamily(o modelName) bool { return slices.Equal(n.words, o.words) }

// newer says whether n is a later model of the same family than o. Of one
// version the undated name wins: it is the one its vendor keeps current.
func (n modelName) newer(o modelName) bool {
	if c := slices.Compare(n.version, o.version); c != 0 {
		return c > 0
	}
	if (n.date == "") != (o.date == "") {
		return n.date == ""
	}
	return n.date > o.date
}

// notFound says what may have been meant.
func (r *Resolver) notFound(s string) error {
	provider, id, ok := strings.Cut(s, "/")
	if ok && !r.registry.Knows(provider) && !isVendorPrefix(provider, r.registry.All()) {
		if err, ok := r.registry.unknownProvider(provider).(*NotFoundError); ok {
			if len(err.Similar) == 0 && id != "" {
				err.Hint = "burin models --all lists the providers; models.yml or --base-url can add one"
				return err
			}
			for i := range err.Similar {
				err.Similar[i] += "/" + id
			}
			return &NotFoundError{Selector: s, What: "model", Similar: err.Similar}
		}
	}
	var refs []string
	scoped := ok && r.registry.Knows(provider)
	for _, m := range r.registry.All() {
		switch {
		case scoped && m.Provider == provider, !scoped && ok:
			refs = append(refs, m.Ref())
		case !scoped:
			refs = append(refs, m.ID)
		}
	}
	slices.Sort(refs)
	return &NotFoundError{Selector: s, What: "model", Similar: nearest(s, slices.Compact(refs), 3), Hint: "burin models lists what there is; --discover asks the providers"}
}

// isVendorPrefix says whether ids of some model begin with the word.
func isVendorPrefix(word string, models []*Model) bool {
	return slices.ContainsFunc(models, func(m *Model) bool { return strings.HasPrefix(m.ID, word+"/") })
}
