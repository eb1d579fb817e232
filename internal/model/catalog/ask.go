package catalog

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/burin-dev/burin/internal/sorting"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// maxAnswer is the size up to which a list of models is read, in bytes.
const maxAnswer = 16 << 20

// ask gets the models of one server.
func (s *Servers) ask(ctx context.Context, t target) ([]foundModel, error) {
	a := asker{client: s.client, header: http.Header{}}
	if a.client == nil {
		a.client = wire.DefaultClient()
	}
	a.header.Set("User-Agent", wire.UserAgent)
	if err := s.authorize(ctx, t, a.header); err != nil {
		return nil, err
	}
	for name, value := range t.headers {
		a.header.Set(name, value)
	}
	root := strings.TrimSuffix(strings.TrimRight(t.baseURL, "/"), "/v1")
	var models []foundModel
	var err error
	switch t.kind {
	case DiscoverOllama:
		models, err = a.ollama(ctx, root)
	case DiscoverLlamaCPP:
		models, err = a.llamaCPP(ctx, root)
	case DiscoverLMStudio:
		models, err = a.lmStudio(ctx, root)
	case DiscoverVLLM:
		models, err = a.list(ctx, root+"/v1/models")
	default:
		models, err = a.vendor(ctx, t)
	}
	if err != nil {
		return nil, err
	}
	models = slices.DeleteFunc(models, func(m foundModel) bool { return m.ID == "" || strings.ContainsAny(m.ID, "\t\n") })
	sorting.Stable(models, func(a, b foundModel) int { return strings.Compare(a.ID, b.ID) })
	return slices.CompactFunc(models, func(a, b foundModel) bool { return a.ID == b.ID }), nil
}

// authorize puts the key where the wire format wants it.
func (s *Servers) authorize(ctx context.Context, t target, h http.Header) error {
	if t.api == llm.APIAnthropic {
		h.Set("Anthropic-Version", "2023-06-01")
	}
	if s.key == nil || t.auth == AuthNone {
		return nil
	}
	key, err := s.key(ctx, t.provider)
	if err != nil || key == "" {
		return err
	}
	switch {
	case t.bearer || t.api.Family() == llm.APIResponses || t.api == llm.APICompletions:
		h.Set("Authorization", "Bearer "+key)
	case t.api == llm.APIAnthropic:
		h.Set("X-Api-Key", key)
	case t.api == llm.APIGoogle:
		h.Set("X-Goog-Api-Key", key)
	}
	return nil
}

// asker speaks JSON with one server.
type asker struct {
	client *http.Client
	header http.Header
}

// get reads the JSON at url into v; with a body it is posted.
func (a asker) get(ctx context.Context, url string, body, v any) error {
	method, reader := http.MethodGet, io.Reader(nil)
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		method, reader = http.MethodPost, bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, reader)
	if err != nil {
		return fmt.Errorf("the address %q is not usable", url)
	}
	req.Header = a.header.Clone()
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := a.client.Do(req)
	if err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return fmt.Errorf("%s did not answer in time", req.URL.Host)
		}
		return errors.New(wire.TransportError(err).Message)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
		return fmt.Errorf("%s answered %d: %s", req.URL.Host, resp.StatusCode, wire.Classify(resp.StatusCode, resp.Header, text).Message)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(v); err != nil {
		return fmt.Errorf("%s did not answer with a list of models", req.URL.Host)
	}
	return nil
}

// ollama asks an Ollama server: its list, then each model for what it can do.
// Models that only embed are left out.
func (a asker) ollama(ctx context.Context, root string) ([]foundModel, error) {
	var tags struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if err := a.get(ctx, root+"/api/tags", nil, &tags); err != nil {
		return nil, err
	}
	models := make([]foundModel, len(tags.Models))
	slots := make(chan struct{}, 8)
	var wg sync.WaitGroup
	for i, tag := range tags.Models {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			models[i] = a.ollamaModel(ctx, root, tag.Name)
		})
	}
	wg.Wait()
	return models, nil
}

var numCtx = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^num_ctx\s+(\d+)`) })

// ollamaModel asks for one model. A model about which nothing can be learned in
// time is listed by its name alone.
func (a asker) ollamaModel(ctx context.Context, root, name string) foundModel {
	m := foundModel{ID: name, Free: !strings.HasSuffix(name, "cloud")} // cloud models run elsewhere and are billed
	var show struct {
		Parameters   string                     `json:"parameters"`
		ModelInfo    map[string]json.RawMessage `json:"model_info"`
		Capabilities []string                   `json:"capabilities"`
	}
	if a.get(ctx, root+"/api/show", map[string]string{"model": name}, &show) != nil {
		return m
	}
	if len(show.Capabilities) > 0 && !slices.Contains(show.Capabilities, "completion") {
		return foundModel{}
	}
	for key, value := range show.ModelInfo {
		if strings.HasSuffix(key, ".context_length") {
			_ = json.Unmarshal(value, &m.Context)
		}
	}
	if match := numCtx().FindStringSubmatch(show.Parameters); match != nil {
		m.Context, _ = strconv.Atoi(match[1]) // the model was made to run with this much
	}
	m.Image = slices.Contains(show.Capabilities, "vision")
	m.Thinking = slices.Contains(show.Capabilities, "thinking")
	return m
}

// llamaCPP asks a llama.cpp server. Its window is what it was started with, not
// what the model was trained for.
func (a asker) llamaCPP(ctx context.Context, root string) ([]foundModel, error) {
	models, err := a.list(ctx, root+"/v1/models")
	if err != nil {
		return nil, err
	}
	var props struct {
		Settings struct {
			Context int `json:"n_ctx"`
		} `json:"default_generation_settings"`
		Modalities struct {
			Vision bool `json:"vision"`
		} `json:"modalities"`
	}
	_ = a.get(ctx, root+"/props", nil, &props) // older servers do not have it
	for i := range models {
		models[i].Free = true
		if len(models) == 1 { // a router's properties are not those of its models
			models[i].Context = cmp.Or(props.Settings.Context, models[i].Context)
			models[i].Image = models[i].Image || props.Modalities.Vision
		}
	}
	return models, nil
}

// lmStudio asks LM Studio, through its own list where there is one: that tells
// embedding models apart and knows the window.
func (a asker) lmStudio(ctx context.Context, root string) ([]foundModel, error) {
	var own struct {
		Data []struct {
			ID     string `json:"id"`
			Type   string `json:"type"`
			Max    int    `json:"max_context_length"`
			Loaded int    `json:"loaded_context_length"`
		} `json:"data"`
	}
	if a.get(ctx, root+"/api/v0/models", nil, &own) != nil || len(own.Data) == 0 {
		models, err := a.list(ctx, root+"/v1/models")
		for i := range models {
			models[i].Free = true
		}
		return models, err
	}
	var models []foundModel
	for _, d := range own.Data {
		if d.Type != "embeddings" {
			models = append(models, foundModel{ID: d.ID, Context: cmp.Or(d.Loaded, d.Max), Image: d.Type == "vlm", Free: true})
		}
	}
	return models, nil
}

// vendor asks a provider through its wire format.
func (a asker) vendor(ctx context.Context, t target) ([]foundModel, error) {
	base := strings.TrimRight(t.baseURL, "/")
	switch t.api.Family() {
	case llm.APIAnthropic:
		return a.list(ctx, strings.TrimSuffix(base, "/v1")+"/v1/models?limit=1000")
	case llm.APIGoogle:
		return a.list(ctx, base+"/models?pageSize=1000")
	}
	models, err := a.list(ctx, base+"/models")
	if t.provider == "openai" {
		// The vendor lists what draws, speaks and embeds beside what talks.
		models = slices.DeleteFunc(models, func(m foundModel) bool { return !openAIChat().MatchString(m.ID) || openAIOther().MatchString(m.ID) })
	}
	return models, err
}

var (
	openAIChat  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(gpt-|chatgpt-|o\d)`) })
	openAIOther = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(audio|realtime|transcribe|tts|image|instruct|search-(preview|api))`)
	})
)

// listed is one entry of a list of models, with the fields of the vendors that
// say more than the id.
type listed struct {
	ID            string `json:"id"`
	Name          string `json:"name"`
	DisplayName   string `json:"display_name"`
	GoogleName    string `json:"displayName"`
	Context       int    `json:"context_length"`
	ContextWindow int    `json:"context_window"`     // Groq
	MaxModelLen   int    `json:"max_model_len"`      // vLLM
	MaxContext    int    `json:"max_context_length"` // Mistral
	MaxInput      int    `json:"max_input_tokens"`   // Anthropic
	InputLimit    int    `json:"inputTokenLimit"`    // Google
	MaxOutput     int    `json:"max_tokens"`
	OutputLimit   int    `json:"outputTokenLimit"` // Google
	TopProvider   struct {
		MaxOutput int `json:"max_completion_tokens"`
	} `json:"top_provider"`
	Architecture struct {
		Input []string `json:"input_modalities"`
	} `json:"architecture"`
	Parameters []string        `json:"supported_parameters"`
	Methods    []string        `json:"supportedGenerationMethods"`
	Thinking   bool            `json:"thinking"`
	Pricing    json.RawMessage `json:"pricing"`
	Meta       struct {
		TrainedContext int `json:"n_ctx_train"`
	} `json:"meta"`
}

// list reads a list of models: {"data": […]}, {"models": […]} or […], whose
// entries are objects or ids.
func (a asker) list(ctx context.Context, url string) ([]foundModel, error) {
	var raw json.RawMessage
	if err := a.get(ctx, url, nil, &raw); err != nil {
		return nil, err
	}
	var wrapped struct {
		Data   []json.RawMessage `json:"data"`
		Models []json.RawMessage `json:"models"`
	}
	var entries []json.RawMessage
	if json.Unmarshal(raw, &entries) != nil {
		if err := json.Unmarshal(raw, &wrapped); err != nil || wrapped.Data == nil && wrapped.Models == nil {
			return nil, fmt.Errorf("the answer is not a list of models")
		}
		entries = wrapped.Data
		if entries == nil {
			entries = wrapped.Models
		}
	}
	var models []foundModel
	for _, e := range entries {
		var l listed
		if json.Unmarshal(e, &l.ID) != nil {
			if err := json.Unmarshal(e, &l); err != nil && l.ID == "" && l.Name == "" {
				continue
			}
		}
		if m, ok := l.model(); ok {
			models = append(models, m)
		}
	}
	return models, nil
}

// model takes from an entry what is known to be meant.
func (l listed) model() (foundModel, bool) {
	if l.Methods != nil && !slices.Contains(l.Methods, "generateContent") {
		return foundModel{}, false
	}
	id := cmp.Or(l.ID, strings.TrimPrefix(l.Name, "models/"))
	m := foundModel{
		ID:       id,
		Name:     cmp.Or(l.DisplayName, l.GoogleName, strings.TrimPrefix(l.Name, "models/")),
		Context:  cmp.Or(l.Context, l.ContextWindow, l.MaxModelLen, l.MaxContext, l.MaxInput, l.InputLimit, l.Meta.TrainedContext),
		Output:   cmp.Or(l.TopProvider.MaxOutput, l.OutputLimit, l.MaxOutput),
		Image:    slices.Contains(l.Architecture.Input, "image"),
		Thinking: l.Thinking || slices.Contains(l.Parameters, "reasoning"),
	}
	if len(l.Pricing) > 0 {
		m.Price = readPricing(l.Pricing)
	}
	return m, id != ""
}

// readPricing reads OpenRouter's prices: dollars per token, as texts. A router
// that decides later says -1, which is no price. What reasoning costs is left
// out: it is part of the output and must not be counted twice.
func readPricing(raw json.RawMessage) *foundPrice {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	perToken := func(name string) *float64 {
		text := strings.Trim(string(fields[name]), `"`)
		d, err := strconv.ParseFloat(text, 64)
		if err != nil || d < 0 {
			return nil
		}
		d *= 1e6
		return &d
	}
	p := &foundPrice{
		Input: perToken("prompt"), Output: perToken("completion"),
		CacheRead: perToken("input_cache_read"), CacheWrite: perToken("input_cache_write"),
	}
	if p.Input == nil || p.Output == nil {
		return nil
	}
	return p
}
