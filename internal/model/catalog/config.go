package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml/ast"

	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/openai"
	"github.com/burin-dev/burin/llm/wire"
)

// config is the content of models.yml.
type config struct {
	Providers   providerList `yaml:"providers"`
	Equivalence struct {
		Overrides map[modelRef]string `yaml:"overrides"`
		Exclude   []modelRef          `yaml:"exclude"`
	} `yaml:"equivalence"`
	ModelBindings struct {
		ModelRoles map[string]string `yaml:"modelRoles"`
		// AgentModelOverrides are selectors by the names of agents.
		AgentModelOverrides map[string]string `yaml:"agentModelOverrides"`
	} `yaml:"modelBindings"`
}

// providerList keeps the order of the file: it decides between providers that
// nothing else tells apart.
type providerList []*providerConfig

type providerConfig struct {
	id string
	at position

	Name               string                     `yaml:"name"`
	Icon               icon                       `yaml:"icon"`
	BaseURL            baseURL                    `yaml:"baseUrl"`
	APIKey             string                     `yaml:"apiKey"`
	APIKeyEnv          string                     `yaml:"apiKeyEnv"`
	API                apiName                    `yaml:"api"`
	Headers            map[headerName]string      `yaml:"headers"`
	AuthHeader         bool                       `yaml:"authHeader"`
	Auth               Auth                       `yaml:"auth"`
	DisableStrictTools *bool                      `yaml:"disableStrictTools"`
	Discovery          *discoveryConfig           `yaml:"discovery"`
	ModelOverrides     map[string]*overrideConfig `yaml:"modelOverrides"`
	Models             modelList                  `yaml:"models"`
	Compat             *openai.Compat             `yaml:"compat"`
	RequestTransform   *transformConfig           `yaml:"requestTransform"`
}

type discoveryConfig struct {
	Type Discovery `yaml:"type"`
}

// facts are what models and overrides may both say of a model.
type facts struct {
	Name                   *string               `yaml:"name"`
	Reasoning              *bool                 `yaml:"reasoning"`
	Thinking               *thinkingConfig       `yaml:"thinking"`
	Input                  []modality            `yaml:"input"`
	Cost                   *costConfig           `yaml:"cost"`
	ContextWindow          *tokens               `yaml:"contextWindow"`
	MaxTokens              *tokens               `yaml:"maxTokens"`
	Headers                map[headerName]string `yaml:"headers"`
	Compat                 *openai.Compat        `yaml:"compat"`
	ContextPromotionTarget *string               `yaml:"contextPromotionTarget"`
	RequestTransform       *transformConfig      `yaml:"requestTransform"`
	WireModelID            *string               `yaml:"wireModelId"`
	Temperature            *temperature          `yaml:"temperature"`
	TopP                   *share                `yaml:"topP"`
	TopK                   *count                `yaml:"topK"`
	MinP                   *share                `yaml:"minP"`
	PresencePenalty        *penalty              `yaml:"presencePenalty"`
	RepetitionPenalty      *penalty              `yaml:"repetitionPenalty"`
	ServiceTier            *tier                 `yaml:"serviceTier"`
	WebSearch              *bool                 `yaml:"webSearch"`
}

type overrideConfig struct{ facts }

type modelList []*modelConfig

type modelConfig struct {
	at  position
	ID  string
	API apiName
	facts
}

// thinkingConfig says how a model thinks. Where it is given, the model does.
type thinkingConfig struct {
	MinLevel     level            `yaml:"minLevel"`
	MaxLevel     level            `yaml:"maxLevel"`
	Mode         thinkingMode     `yaml:"mode"`
	DefaultLevel level            `yaml:"defaultLevel"`
	Levels       []level          `yaml:"levels"`
	Budgets      map[level]tokens `yaml:"budgets"`
}

// costConfig is in dollars per million tokens. "cost: free" says that the model
// costs nothing.
type costConfig struct {
	free                                 bool
	Input, Output, CacheRead, CacheWrite *rate
}

type transformConfig struct {
	Profile      profile              `yaml:"profile"`
	StripHeaders []headerName         `yaml:"stripHeaders"`
	SetHeaders   map[headerName]unset `yaml:"setHeaders"`
	ExtraBody    map[string]any       `yaml:"extraBody"`
}

// unset is a header's value; null removes the header and is "" here.
type unset string

type (
	apiName      string
	baseURL      string
	headerName   string
	icon         string
	level        string
	modality     string
	modelRef     string
	profile      string
	rate         float64
	thinkingMode string
	tokens       int
)

func (a apiName) check() error {
	hint, known := apis[string(a)]
	switch {
	case !known:
		return fmt.Errorf("unknown wire format %q%s", string(a), didYouMean(string(a), slices.Sorted(maps.Keys(apis))))
	case hint != "":
		return fmt.Errorf("the wire format %q is not served: %s", string(a), hint)
	}
	return nil
}

// regionURL is a region of AWS in the place of an address.
var regionURL = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(bedrock:)?[a-z]{2}(-[a-z]+)+-\d$`) })

func (u baseURL) check() error {
	if regionURL().MatchString(string(u)) {
		return nil // the Bedrock codec knows the address of a region
	}
	parsed, err := url.Parse(string(u))
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return errors.New("want an address that begins with http:// or https://")
	}
	if parsed.User != nil {
		return errors.New("an address must not hold a password; use apiKey or headers")
	}
	return nil
}

// maxIcon is how many bytes an emoji may have.
const maxIcon = 32

func (i icon) check() error {
	if len(i) > maxIcon {
		return fmt.Errorf("want an emoji or a letter, not %d bytes", len(i))
	}
	return nil
}

func (h headerName) check() error {
	if h == "" || strings.ContainsFunc(string(h), func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune("()<>@,;:\\\"/[]?={}", r)
	}) {
		return fmt.Errorf("%q is no name for a header", string(h))
	}
	return nil
}

func (l level) check() error {
	_, err := llm.ParseLevel(string(l))
	return err
}

func (m modality) check() error {
	known := []string{"text", "image", "document", "audio", "video"}
	if !slices.Contains(known, string(m)) {
		return fmt.Errorf("unknown kind of input %q (want %s)", string(m), strings.Join(known, ", "))
	}
	return nil
}

func (r modelRef) check() error {
	if _, _, ok := llm.SplitRef(string(r)); !ok {
		return fmt.Errorf("%q is not provider/model", string(r))
	}
	return nil
}

func (p profile) check() error {
	if p != profileProxy {
		return fmt.Errorf("unknown profile %q (want %s)", string(p), profileProxy)
	}
	return nil
}

func (r rate) check() error {
	if r < 0 {
		return errors.New("a price cannot be negative; leave it out where it is unknown")
	}
	return nil
}

func (m thinkingMode) check() error {
	switch llm.ThinkingMode(m) {
	case llm.ThinkingEffort, llm.ThinkingBudget, llm.ThinkingAdaptive:
		return nil
	}
	return fmt.Errorf("unknown mode %q (want effort, budget or adaptive)", string(m))
}

func (t tokens) check() error {
	if t <= 0 {
		return errors.New("want a number of tokens above zero")
	}
	return nil
}

func (a Auth) check() error {
	if a != AuthKey && a != AuthNone && a != AuthOAuth {
		return fmt.Errorf("unknown value %q (want apiKey, none or oauth)", string(a))
	}
	return nil
}

func (t Discovery) check() error {
	switch t {
	case DiscoverOllama, DiscoverLlamaCPP, DiscoverLMStudio, DiscoverVLLM:
		return nil
	}
	return fmt.Errorf("unknown kind of server %q (want ollama, llama.cpp, lm-studio or vllm)", string(t))
}

func (l *providerList) decode(d *decoder, n ast.Node, where string, depth int) {
	list, _ := d.pairs(n, where, depth)
	for _, p := range list {
		if p.key == "" || strings.ContainsAny(p.key, "/ \t") {
			d.problem(p.at, "%q is no id for a provider: it may hold no slash and no blank", p.key)
			continue
		}
		c := &providerConfig{id: p.key, at: p.at}
		d.decode(p.value, reflect.ValueOf(c).Elem(), fmt.Sprintf("provider %q", p.key), depth+1)
		*l = append(*l, c)
	}
}

func (l *modelList) decode(d *decoder, n ast.Node, where string, depth int) {
	s, ok := d.value(n).(*ast.SequenceNode)
	if !ok {
		d.problem(positionOf(n), "%s must be a list, not %s", where, kindOf(d.value(n)))
		return
	}
	_, provider, _ := strings.Cut(where, " in ")
	for i, item := range s.Values {
		m := &modelConfig{at: positionOf(item)}
		m.read(d, item, fmt.Sprintf("model %d of %s", i+1, provider), provider, depth+1)
		*l = append(*l, m)
	}
}

// read is the struct decoding of a model, named by its id once that is known.
func (m *modelConfig) read(d *decoder, n ast.Node, where, provider string, depth int) {
	list, ok := d.pairs(n, where, depth)
	if !ok {
		return
	}
	if len(list) > 0 {
		m.at = list[0].at
	}
	for _, p := range list {
		if text, ok := scalarText(d.value(p.value)); p.key == "id" && ok && text != "" {
			where, m.at = fmt.Sprintf("model %q of %s", text, provider), p.at
		}
	}
	own := map[string]reflect.Value{"id": reflect.ValueOf(&m.ID).Elem(), "api": reflect.ValueOf(&m.API).Elem()}
	m.facts.read(d, list, where, own, depth)
	if m.ID == "" {
		d.problem(m.at, "%s has no id", where)
	}
}

func (o *overrideConfig) decode(d *decoder, n ast.Node, where string, depth int) {
	if list, ok := d.pairs(n, where, depth); ok {
		o.facts.read(d, list, where, nil, depth)
	}
}

// read fills the facts and the fields of own from the pairs.
func (f *facts) read(d *decoder, list []pair, where string, own map[string]reflect.Value, depth int) {
	v := reflect.ValueOf(f).Elem()
	fields := fieldsOf(v.Type())
	for _, p := range list {
		field, ok := own[p.key]
		if i, known := fields[p.key]; known {
			field, ok = v.Field(i), true
		}
		if !ok {
			known := append(slices.Collect(maps.Keys(fields)), slices.Collect(maps.Keys(own))...)
			slices.Sort(known)
			d.problem(p.at, "unknown key %q in %s%s", p.key, where, didYouMean(p.key, known))
			continue
		}
		d.decode(p.value, field, fmt.Sprintf("%q in %s", p.key, where), depth+1)
	}
}

func (c *costConfig) decode(d *decoder, n ast.Node, where string, depth int) {
	if text, ok := scalarText(d.value(n)); ok {
		if c.free = text == "free"; !c.free {
			d.problem(positionOf(n), "%s must be a mapping of prices or the word free", where)
		}
		return
	}
	var prices struct {
		Input      *rate `yaml:"input"`
		Output     *rate `yaml:"output"`
		CacheRead  *rate `yaml:"cacheRead"`
		CacheWrite *rate `yaml:"cacheWrite"`
	}
	d.decodeStruct(n, reflect.ValueOf(&prices).Elem(), where, depth)
	c.Input, c.Output, c.CacheRead, c.CacheWrite = prices.Input, prices.Output, prices.CacheRead, prices.CacheWrite
}

func (u *unset) decode(d *decoder, n ast.Node, where string, _ int) {
	node := d.value(n)
	if _, null := node.(*ast.NullNode); null || node == nil {
		return
	}
	text, ok := scalarText(node)
	if !ok {
		d.problem(positionOf(n), "%s must be text or null, not %s", where, kindOf(node))
		return
	}
	*u = unset(text)
}

// profileProxy is the preset for proxies that mimic OpenAI.
const profileProxy = "openai-proxy"

// telemetryHeaders are what OpenAI's own libraries add to a request. burin adds
// none of them; they are stripped in case an extension or a header block does.
var telemetryHeaders = []string{
	"X-Stainless-Arch", "X-Stainless-Async", "X-Stainless-Custom-Poll-Interval", "X-Stainless-Helper-Method",
	"X-Stainless-Lang", "X-Stainless-OS", "X-Stainless-Package-Version", "X-Stainless-Poll-Helper",
	"X-Stainless-Retry-Count", "X-Stainless-Runtime", "X-Stainless-Runtime-Version", "X-Stainless-Timeout",
}

// apply lays the block over t: lists replace, maps merge key by key.
func (c *transformConfig) apply(t wire.Transform) wire.Transform {
	if c == nil {
		return t
	}
	if c.Profile == profileProxy {
		t.StripHeaders = telemetryHeaders
		t.SetHeaders = merged(t.SetHeaders, map[string]string{"User-Agent": wire.UserAgent})
	}
	if c.StripHeaders != nil {
		t.StripHeaders = nil
		for _, name := range c.StripHeaders {
			t.StripHeaders = append(t.StripHeaders, string(name))
		}
	}
	set := map[string]string{}
	for name, value := range c.SetHeaders {
		set[http.CanonicalHeaderKey(string(name))] = string(value)
	}
	t.SetHeaders = merged(t.SetHeaders, set)
	t.ExtraBody = merged(t.ExtraBody, c.ExtraBody)
	return t
}

// merged is a with b on top; neither is changed.
func merged[M ~map[K]V, K comparable, V any](a, b M) M {
	if len(b) == 0 {
		return a
	}
	out := make(M, len(a)+len(b))
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

// headers gives the block with canonical names.
func headers(in map[headerName]string) map[string]string {
	if len(in) == 0 {
		return nil
	}
	out := make(map[string]string, len(in))
	for name, value := range in {
		out[http.CanonicalHeaderKey(string(name))] = value
	}
	return out
}

// readConfig reads the file at path, or the first of models.yml, models.yaml
// and models.json in home where path is empty. JSON may hold comments and is
// left as it is. No file is no error; the name is then "".
func readConfig(path, home string, builtIn table) (c config, file string, err error) {
	candidates := []string{path}
	if path == "" {
		if home == "" {
			return config{}, "", nil
		}
		candidates = nil
		for _, name := range []string{"models.yml", "models.yaml", "models.json"} {
			candidates = append(candidates, filepath.Join(home, name))
		}
	}
	for _, file := range candidates {
		text, err := smallfile.Given(file, smallfile.Settings)
		if path == "" && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return config{}, file, fmt.Errorf("read the model configuration: %w", err)
		}
		whole := file // where it is must be clear from anywhere
		if abs, err := filepath.Abs(file); err == nil {
			whole = abs
		}
		c, err := parseConfig(whole, text, builtIn)
		return c, file, err
	}
	return config{}, "", nil
}

// parseConfig reads and checks the text of a configuration file.
func parseConfig(name string, text []byte, builtIn table) (config, error) {
	if ext := filepath.Ext(name); ext == ".json" || ext == ".jsonc" {
		text = blankComments(text)
	}
	d := &decoder{file: name}
	var c config
	if root := d.parse(text); root != nil {
		d.decodeStruct(root, reflect.ValueOf(&c).Elem(), "the file", 0)
	}
	if len(d.problems) == 0 {
		d.validate(&c, builtIn)
	}
	if err := d.err(); err != nil {
		return config{}, err
	}
	return c, nil
}

// blankComments replaces what JSON with comments has beyond YAML (comments and
// tabs) by blanks, so that every position stays what it was.
func blankComments(in []byte) []byte {
	out := slices.Clone(in)
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	for i := 0; i < len(out); i++ {
		switch rest := string(out[i:min(i+2, len(out))]); {
		case out[i] == '"':
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
		case out[i] == '\t':
			out[i] = ' '
		case rest == "//":
			end := i
			for end < len(out) && out[end] != '\n' {
				end++
			}
			blank(i, end)
		case rest == "/*":
			end := len(out)
			if n := strings.Index(string(out[i+2:]), "*/"); n >= 0 {
				end = i + n + 4
			}
			blank(i, end)
			i = end - 1
		}
	}
	return out
}
