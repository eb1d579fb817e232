package catalog

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/openai"
)

//go:embed models.tsv
var embedded string

// table is the text of a catalogue: a head of "#" lines, then for each provider
// a connection line per wire format and a line per model, as written by gen.
// It is searched as text; a line is parsed when it is needed.
type table struct{ text string }

// head gives a value of the head, "date" or "source".
func (t table) head(key string) string {
	for line := range strings.Lines(t.text) {
		rest, ok := strings.CutPrefix(line, "#")
		if !ok {
			return ""
		}
		if value, ok := strings.CutPrefix(strings.TrimSpace(rest), key+": "); ok {
			return value
		}
	}
	return ""
}

// line gives the line that begins with prefix, without its end.
func (t table) line(prefix string) (string, bool) {
	i := strings.Index(t.text, "\n"+prefix)
	if i < 0 {
		return "", false
	}
	line, _, _ := strings.Cut(t.text[i+1:], "\n")
	return line, true
}

// model parses the line of one model.
func (t table) model(provider, id string) (Model, bool, error) {
	line, ok := t.line(provider + "\t" + id + "\t")
	if !ok || provider == "" || strings.ContainsAny(provider[:1], "#@") {
		return Model{}, false, nil
	}
	m, err := parseModel(line, t.connection)
	return m, err == nil, err
}

// connection is what the models of a provider that share a wire format have in
// common.
type connection struct {
	baseURL       string
	dialect       string // as JSON
	compat        openai.Compat
	noStrictTools bool
	laid          map[string]openai.Compat // by the JSON that was laid over dialect
}

// with is the connection's dialect with a model's own JSON over it. Hundreds of models share a
// few, so that each is read once.
func (c *connection) with(own string) (openai.Compat, error) {
	if compat, ok := c.laid[own]; ok {
		return compat, nil
	}
	var compat openai.Compat
	for _, text := range []string{c.dialect, own} {
		if text == "" {
			continue
		}
		if err := readCompat(text, &compat); err != nil {
			return openai.Compat{}, err
		}
	}
	if c.laid == nil {
		c.laid = map[string]openai.Compat{}
	}
	c.laid[own] = compat
	return compat, nil
}

func (t table) connection(provider, api string) (*connection, error) {
	line, ok := t.line("@" + provider + "\t" + api + "\t")
	if !ok {
		return nil, fmt.Errorf("no connection for %s of %s", api, provider)
	}
	return parseConnection(line)
}

// connect gives m what the models of its provider and wire format have in
// common, if the table knows the two.
func (t table) connect(m *Model) {
	c, err := t.connection(m.Provider, string(m.API))
	if err != nil {
		return
	}
	m.BaseURL, m.DisableStrictTools, m.Compat = c.baseURL, c.noStrictTools, c.compat
}

// readCompat lays JSON over c. A key it does not know is an error, so that a
// renamed one does not get lost.
func readCompat(text string, c *openai.Compat) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(c)
}

func parseConnection(line string) (*connection, error) {
	var cols [5]string
	if n := split(line, cols[:]); n != len(cols) {
		return nil, fmt.Errorf("a connection has %d columns, want %d", n, len(cols))
	}
	c := &connection{baseURL: cols[2], dialect: cols[3], noStrictTools: cols[4] == "no-strict-tools"}
	var err error
	c.compat, err = c.with("")
	return c, err
}

// providers lists the providers in the order of the text.
func (t table) providers() []string {
	var ids []string
	rest := t.text
	for {
		i := lineAt(rest, "@")
		if i < 0 {
			return ids
		}
		rest = rest[i+1:]
		if id, _, _ := strings.Cut(rest, "\t"); len(ids) == 0 || ids[len(ids)-1] != id {
			ids = append(ids, id)
		}
	}
}

// hasProvider says whether the table knows the provider.
func (t table) hasProvider(id string) bool {
	return id != "" && lineAt(t.text, "@"+id+"\t") >= 0
}

// lineAt is where a line begins with prefix, whose first character is rare: looking for the end
// of the line before it would stop at each of the table's. It is -1 if there is none.
func lineAt(text, prefix string) int {
	for from := 0; ; {
		i := strings.Index(text[from:], prefix)
		if i < 0 {
			return -1
		}
		if from += i; from > 0 && text[from-1] == '\n' {
			return from
		}
		from++
	}
}

// firstAPI is the wire format of a provider's first connection.
func (t table) firstAPI(provider string) llm.API {
	line, ok := t.line("@" + provider + "\t")
	if !ok {
		return ""
	}
	var cols [5]string
	split(line, cols[:])
	return llm.API(cols[1])
}

// all parses every model. The first defect ends it.
func (t table) all() ([]Model, error) {
	models := make([]Model, 0, strings.Count(t.text, "\n"))
	connections := map[string]*connection{}
	lookup := func(provider, api string) (*connection, error) {
		c, ok := connections[provider+"\t"+api]
		if !ok {
			return c, fmt.Errorf("no connection for %s of %s", api, provider)
		}
		return c, nil
	}
	number := 0
	for line := range strings.Lines(t.text) {
		number++
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" || line[0] == '#':
			continue
		case line[0] == '@':
			c, err := parseConnection(line)
			if err != nil {
				return models, fmt.Errorf("line %d: %w", number, err)
			}
			provider, rest, _ := strings.Cut(line[1:], "\t")
			api, _, _ := strings.Cut(rest, "\t")
			connections[provider+"\t"+api] = c
		default:
			m, err := parseModel(line, lookup)
			if err != nil {
				return models, fmt.Errorf("line %d: %w", number, err)
			}
			models = append(models, m)
		}
	}
	return models, nil
}

// split cuts line at tabs into cols and gives the number of columns it has.
func split(line string, cols []string) int {
	n := 0
	for {
		col, rest, more := strings.Cut(line, "\t")
		if n < len(cols) {
			cols[n] = col
		}
		n++
		if !more {
			return n
		}
		line = rest
	}
}

// parseModel reads a model's line: provider, id, name, context window, output
// limit, input kinds, thinking, price, release date, wire format, extras.
func parseModel(line string, connectionOf func(provider, api string) (*connection, error)) (Model, error) {
	var c [11]string
	if n := split(line, c[:]); n != len(c) {
		return Model{}, fmt.Errorf("a model has %d columns, want %d", n, len(c))
	}
	m := Model{Origin: OriginBuiltIn}
	m.Provider, m.ID, m.Name, m.API = c[0], c[1], c[2], llm.API(c[9])
	if m.Provider == "" || m.ID == "" {
		return Model{}, fmt.Errorf("a model has no provider or id")
	}
	fail := func(what string, err error) (Model, error) {
		return Model{}, fmt.Errorf("%s of %s: %w", what, m.Ref(), err)
	}
	if hint, known := apis[c[9]]; !known || hint != "" {
		return fail("wire format", fmt.Errorf("unknown %q", c[9]))
	}
	var err error
	if m.ContextWindow, err = strconv.Atoi(c[3]); err != nil {
		return fail("context window", err)
	}
	if m.MaxOutput, err = strconv.Atoi(c[4]); err != nil {
		return fail("output limit", err)
	}
	m.Input = parseInput(c[5])
	if m.Thinking, err = parseThinking(c[6]); err != nil {
		return fail("thinking", err)
	}
	if m.Price, err = parsePrice(c[7]); err != nil {
		return fail("price", err)
	}
	m.Released = c[8]
	conn, err := connectionOf(m.Provider, c[9])
	if err != nil {
		return fail("connection", err)
	}
	m.BaseURL, m.DisableStrictTools, m.Compat = conn.baseURL, conn.noStrictTools, conn.compat
	for extra := range strings.FieldsSeq(c[10]) {
		key, value, _ := strings.Cut(extra, "=")
		switch key {
		case "promote":
			m.PromotionTarget = value
		case "from":
			m.Origin = Origin(value)
		case "base":
			m.BaseURL = value
		case "compat":
			if m.Compat, err = conn.with(value); err != nil {
				return fail("compat", err)
			}
		default:
			return fail("extras", fmt.Errorf("unknown %q", key))
		}
	}
	return m, nil
}

// Kinds of input that occur again and again share one slice.
var commonInput = map[string][]llm.Modality{
	"text":                {llm.ModalityText},
	"text,image":          {llm.ModalityText, llm.ModalityImage},
	"text,image,document": {llm.ModalityText, llm.ModalityImage, llm.ModalityDocument},

	"text,audio":                {llm.ModalityText, llm.ModalityAudio},
	"text,image,audio":          {llm.ModalityText, llm.ModalityImage, llm.ModalityAudio},
	"text,image,document,audio": {llm.ModalityText, llm.ModalityImage, llm.ModalityDocument, llm.ModalityAudio},
}

func parseInput(s string) []llm.Modality {
	if kinds, ok := commonInput[s]; ok {
		return kinds
	}
	var kinds []llm.Modality
	for kind := range strings.SplitSeq(s, ",") {
		kinds = append(kinds, llm.Modality(kind))
	}
	return kinds
}

// parseThinking reads "mode[!][:level[=word],…]"; "!" = cannot be turned off.
func parseThinking(s string) (llm.ThinkingSupport, error) {
	var t llm.ThinkingSupport
	if s == "" {
		return t, nil
	}
	mode, levels, listed := strings.Cut(s, ":")
	mode, t.Always = strings.CutSuffix(mode, "!")
	t.Mode = llm.ThinkingMode(mode)
	if !slices.Contains([]llm.ThinkingMode{llm.ThinkingEffort, llm.ThinkingBudget, llm.ThinkingAdaptive}, t.Mode) {
		return t, fmt.Errorf("unknown mode %q", mode)
	}
	if !listed {
		return t, nil
	}
	for item := range strings.SplitSeq(levels, ",") {
		name, word, differs := strings.Cut(item, "=")
		level, err := llm.ParseLevel(name)
		if err != nil {
			return t, err
		}
		if differs {
			if t.Words == nil {
				t.Words = map[llm.Level]string{}
			}
			t.Words[level] = word
		}
		if level != llm.LevelOff {
			t.Levels = append(t.Levels, level)
		}
	}
	return t, nil
}

// parsePrice reads "in/out/read/write[/hour]", then ">tokens:in/out/read/write"
// steps and "web:dollars". "?" is unknown, "~" in front marks a stand-in.
func parsePrice(s string) (llm.Price, error) {
	var p llm.Price
	first := true
	for field := range strings.FieldsSeq(s) {
		var err error
		switch {
		case field[0] == '>':
			var step llm.PriceStep
			above, rates, _ := strings.Cut(field[1:], ":")
			if step.Above, err = strconv.Atoi(above); err == nil {
				err = parseRates(rates, &step.Input, &step.Output, &step.CacheRead, &step.CacheWrite)
			}
			p.Steps = append(p.Steps, step)
		case strings.HasPrefix(field, "web:"):
			err = parseRates(field[4:], &p.WebSearch)
		case first:
			field, p.Unreliable = strings.CutPrefix(field, "~")
			err = parseRates(field, &p.Input, &p.Output, &p.CacheRead, &p.CacheWrite, &p.CacheWriteLong)
		default:
			err = fmt.Errorf("unknown %q", field)
		}
		if err != nil {
			return llm.Price{}, err
		}
		first = false
	}
	return p, nil
}

// parseRates reads rates separated by "/" in order; missing ones stay unknown.
func parseRates(s string, into ...*llm.Rate) error {
	i := 0
	for text := range strings.SplitSeq(s, "/") {
		if i >= len(into) {
			return fmt.Errorf("too many rates in %q", s)
		}
		if text != "?" {
			d, err := strconv.ParseFloat(text, 64)
			if err != nil || d < 0 {
				return fmt.Errorf("bad rate %q", text)
			}
			*into[i] = llm.PerMillion(d)
		}
		i++
	}
	return nil
}

// checkTable says what is wrong with a catalogue that came from outside.
func checkTable(t table) error {
	if _, err := time.Parse(time.DateOnly, t.head("date")); err != nil {
		return fmt.Errorf("it has no head with a line \"# date: YYYY-MM-DD\"")
	}
	models, err := t.all()
	if err != nil {
		return err
	}
	if len(models) == 0 {
		return fmt.Errorf("it holds no models")
	}
	return nil
}
