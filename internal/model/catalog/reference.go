package catalog

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/burin-dev/burin/llm"
)

// vendors are the providers whose ids are official: those that made the models.
var vendors = []string{"anthropic", "openai", "google", "deepseek", "xai", "mistral", "moonshotai", "minimax", "zai", "xiaomi"}

// reference finds the vendor's own model behind an id.
type reference struct {
	official map[string]*Model // official id in lower case
	plain    map[string]*Model // id without date, "latest" and "preview"
}

func newReference(models []Model) *reference {
	ref := &reference{official: map[string]*Model{}, plain: map[string]*Model{}}
	for i := range models {
		if m := &models[i]; slices.Contains(vendors, m.Provider) {
			ref.add(m)
		}
	}
	return ref
}

func (ref *reference) add(m *Model) {
	id := strings.ToLower(m.ID)
	if _, taken := ref.official[id]; taken {
		return
	}
	ref.official[id] = m
	key := plainID(id)
	// Of several versions of one model, the undated name speaks for all; among
	// dated ones the newest.
	old, taken := ref.plain[key]
	if !taken || strings.ToLower(old.ID) != key && (id == key || id > strings.ToLower(old.ID)) {
		ref.plain[key] = m
	}
}

// find gives the vendor's model behind id. exact is false when the two differ
// by more than what gateways put around an id: then limits are likely the same
// and prices only probably.
func (ref *reference) find(id string) (m *Model, exact bool) {
	for _, form := range officialForms(id) {
		if m := ref.official[form]; m != nil {
			return m, true
		}
	}
	for _, form := range officialForms(id) {
		if m := ref.plain[plainID(form)]; m != nil {
			return m, false
		}
	}
	return nil, false
}

// referenceTable is the reference made from the vendors' lines only.
func (t table) referenceTable() *reference {
	var own strings.Builder
	for line := range strings.Lines(t.text) {
		provider, _, _ := strings.Cut(strings.TrimPrefix(line, "@"), "\t")
		if slices.Contains(vendors, provider) {
			own.WriteString(line)
		}
	}
	models, _ := table{own.String()}.all()
	return newReference(models)
}

var (
	regionPrefix = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:us|eu|jp|au|apac|global)\.`) })
	vendorDot    = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:anthropic|amazon|deepseek|google|meta|minimax|mistral|moonshotai|openai|qwen|zai)\.`)
	})
	bedrockTail = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:-v\d+)?(?::\d+)?$`) })
	vertexDate  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`@(\d{8})$`) })
)

// officialForms lists what an id may be called by the vendor itself: without
// the vendor's name in front, as Bedrock and Vertex write it, and with versions
// dotted or dashed. The id itself comes first.
func officialForms(id string) []string {
	id = strings.ToLower(id)
	forms := append(make([]string, 0, 8), id)
	add := func(s string) {
		if s != "" && !slices.Contains(forms, s) {
			forms = append(forms, s)
		}
	}
	short := id[strings.LastIndexByte(id, '/')+1:]
	add(short)
	if strings.Contains(short, ".") {
		bedrock := regionPrefix().ReplaceAllString(short, "")
		if own := vendorDot().ReplaceAllString(bedrock, ""); own != bedrock {
			add(own)
			add(bedrockTail().ReplaceAllString(own, ""))
		}
	}
	if strings.Contains(short, "@") {
		add(vertexDate().ReplaceAllString(short, "-$1"))
	}
	for _, f := range forms { // those from before this loop
		add(versionSign(f, '.', '-'))
		add(versionSign(f, '-', '.'))
	}
	return forms
}

// versionSign writes the sign between two digits as to: 4.6 and 4-6.
func versionSign(s string, from, to byte) string {
	digit := func(i int) bool { return '0' <= s[i] && s[i] <= '9' }
	var out []byte
	for i := 1; i+1 < len(s); i++ {
		if s[i] == from && digit(i-1) && digit(i+1) {
			if out == nil {
				out = []byte(s)
			}
			out[i] = to
		}
	}
	if out == nil {
		return s
	}
	return string(out)
}

var dateTail = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[-@](?:20\d{6}|20\d\d-\d\d-\d\d|\d\d-20\d\d|\d\d-\d\d)$`)
})

// plainID drops dates and words like "latest" from the end of an id. The
// version stays: another version may cost something else.
func plainID(id string) string {
	for {
		next := id
		for _, word := range []string{"-latest", "-preview", "-exp", "-experimental", "-0"} {
			next = strings.TrimSuffix(next, word)
		}
		if n := len(next); n > 3 && '0' <= next[n-1] && next[n-1] <= '9' && '0' <= next[n-2] && next[n-2] <= '9' {
			next = dateTail().ReplaceAllString(next, "")
		}
		if next == id {
			return id
		}
		id = next
	}
}

// borrow fills what is unknown of a model from the vendor's model of that id:
// limits and abilities, and the price, which is unreliable unless the id is the
// vendor's own.
func borrow(m *Model, ref func(string) (*Model, bool)) {
	v, exact := ref(m.ID)
	if v == nil {
		return
	}
	if m.Name == "" || m.Name == m.ID {
		m.Name = v.Name
	}
	if m.ContextWindow == 0 {
		m.ContextWindow = v.ContextWindow
	}
	if m.MaxOutput == 0 {
		m.MaxOutput = v.MaxOutput
	}
	if len(m.Input) <= 1 {
		m.Input = inputFor(v.Input, m.API)
	}
	if m.Thinking.Mode == llm.ThinkingNone && v.Thinking.Mode != llm.ThinkingNone {
		m.Thinking = thinkingFor(v, m.API)
	}
	if m.Released == "" {
		m.Released = v.Released
	}
	if !m.Price.Known() && v.Price.Known() {
		m.Price = v.Price
		m.Price.Unreliable = m.Price.Unreliable || !exact
	}
}

// inputFor drops documents where another wire format may not carry them.
func inputFor(kinds []llm.Modality, api llm.API) []llm.Modality {
	if api != llm.APICompletions {
		return kinds
	}
	return slices.DeleteFunc(slices.Clone(kinds), func(k llm.Modality) bool { return k == llm.ModalityDocument })
}

// thinkingFor is how the vendor's model thinks, told in another wire format.
func thinkingFor(v *Model, api llm.API) llm.ThinkingSupport {
	if v.API.Family() == api.Family() || api == llm.APIBedrock {
		return v.Thinking
	}
	t := v.Thinking
	t.Mode = modeFor(api)
	return t
}
