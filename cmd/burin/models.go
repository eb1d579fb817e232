package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/mode/demo"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/connect"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

func demoCommand(p *program) *cobra.Command {
	var inTerminal bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See burin at work with a scripted model; no key, no network",
		Args:  arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if inTerminal {
				return demoTerminal(cmd.Context(), p)
			}
			paths, err := config.FindPaths(p.getenv)
			if err != nil {
				return err
			}
			home, _ := os.UserHomeDir() // only for the paths that commands must not read
			return demo.Run(cmd.Context(), demo.Options{Out: p.out, Color: p.color(p.out), StateDir: paths.Data, Home: home})
		},
	}
	cmd.Flags().BoolVar(&inTerminal, "terminal", false, "in the terminal interface, with questions to answer")
	return cmd
}

type modelsFlags struct {
	all, json, discover bool
	refresh             string
}

func modelsCommand(p *program) *cobra.Command {
	var f modelsFlags
	cmd := &cobra.Command{
		Use:   "models [WORD...]",
		Short: "List models with their windows and prices",
		Long: `List the models that can be used with the keys and servers at hand; --all lists
every model burin knows. Words filter by provider, id and name. Prices are in
dollars per million tokens; "?" is unknown, which is not free.`,
		RunE: func(cmd *cobra.Command, wanted []string) error { return listModels(cmd.Context(), p, f, wanted) },
	}
	cmd.Flags().BoolVarP(&f.all, "all", "a", false, "also models that cannot be used yet")
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object a line")
	cmd.Flags().BoolVar(&f.discover, "discover", false, "ask local servers and providers with a key which models they have")
	cmd.Flags().StringVar(&f.refresh, "refresh", "", "update the model table from models.dev, or from this file or URL")
	cmd.Flags().Lookup("refresh").NoOptDefVal = catalog.ModelsDev
	return cmd
}

func listModels(ctx context.Context, p *program, f modelsFlags, wanted []string) error {
	if f.refresh == catalog.ModelsDev && len(wanted) > 0 && isTable(wanted[0]) { // --refresh FILE
		f.refresh, wanted = wanted[0], wanted[1:]
	}
	if f.refresh != "" {
		if err := refreshModels(ctx, p, f.refresh); err != nil {
			return err
		}
	}
	return p.withModels(func(models *connect.Models) error { return showModels(ctx, p, models.Catalog, f, wanted) })
}

// showModels lists the models that are wanted.
func showModels(ctx context.Context, p *program, models *catalog.Catalog, f modelsFlags, wanted []string) error {
	if f.discover {
		for _, r := range models.Servers.Discover(ctx, catalog.Search{Local: true, Remote: true}) {
			if r.Err != nil {
				fmt.Fprintf(p.err, "burin: %s: %s\n", r.Provider, words.Error(r.Err))
			}
		}
	}
	var list []*catalog.Model
	usable, refreshed := 0, 0
	for _, m := range models.Registry.All() {
		if !matches(m, wanted) {
			continue
		}
		if models.Registry.Available(m) {
			usable++
		} else if !f.all {
			continue
		}
		if m.Origin == catalog.OriginRefreshed {
			refreshed++
		}
		list = append(list, m)
	}
	if f.json {
		return writeModelsJSON(p.out, models.Registry, list)
	}
	if err := writeModels(p.out, list); err != nil {
		return err
	}
	fmt.Fprintf(p.out, "%s, with a key or server at hand: %d; facts of %s (%s)\n", prose.Count(len(list), "model"), usable, models.Registry.Date(), models.Registry.Source())
	if refreshed > 0 {
		fmt.Fprintf(p.out, "%d of them updated from models.dev\n", refreshed)
	}
	if len(list) == 0 {
		if near := models.Registry.Nearest(strings.Join(wanted, " ")); len(near) > 0 {
			fmt.Fprintf(p.err, "burin: no matching model; nearest: %s\n", strings.Join(near, ", "))
			return nil
		}
	}
	switch {
	case len(list) > 0 || f.all:
	case len(wanted) == 0:
		fmt.Fprintln(p.err, "burin: no model can be used yet: burin help keys says how to get one, burin models --all lists them")
	default:
		fmt.Fprintln(p.err, "burin: no usable model matches; --all lists those that need a key")
	}
	return nil
}

// isTable says whether an argument is a table of models rather than a word to look for.
func isTable(s string) bool {
	return strings.Contains(s, "://") || strings.HasSuffix(s, ".tsv") || strings.HasSuffix(s, ".json")
}

// matches says whether every word is found in the model's names.
func matches(m *catalog.Model, wanted []string) bool {
	text := strings.ToLower(m.Ref() + " " + m.Name)
	bareText := joiners.Replace(text)
	for _, w := range wanted {
		w = strings.ToLower(w)
		if bare := joiners.Replace(w); !strings.Contains(text, w) && (bare == "" || !strings.Contains(bareText, bare)) {
			return false
		}
	}
	return true
}

// joiners stand between the parts of a name, and are left out by who doesn't remember which.
var joiners = strings.NewReplacer("-", "", ".", "", "_", "", " ", "")

func refreshModels(ctx context.Context, p *program, from string) error {
	paths, err := config.FindPaths(p.getenv)
	if err != nil {
		return err
	}
	client, err := wire.NewClient(wire.OptionsFromEnv(p.getenv))
	if err != nil {
		return err
	}
	date, err := catalog.Refresh(ctx, client, paths.Cache, from)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.err, "burin: the model table is now from %s\n", date)
	return nil
}

func writeModels(out io.Writer, list []*catalog.Model) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(list) > 0 {
		fmt.Fprintln(w, "MODEL\tWINDOW\tOUTPUT\tREADS\tTHINKS\tIN\tOUT\tCACHED")
	}
	for _, m := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m.Ref(), catalog.TokenWords(m.ContextWindow), catalog.TokenWords(m.MaxOutput),
			reads(m), thinks(m), catalog.RateWords(m.Price.Input, m.Price.Unreliable), catalog.RateWords(m.Price.Output, m.Price.Unreliable), catalog.RateWords(m.Price.CacheRead, m.Price.Unreliable))
	}
	return w.Flush()
}

func reads(m *catalog.Model) string {
	var kinds []string
	for _, k := range m.Input {
		switch k {
		case llm.ModalityText:
		case llm.ModalityDocument:
			kinds = append(kinds, "pdf")
		default:
			kinds = append(kinds, string(k))
		}
	}
	if len(kinds) == 0 {
		return "text"
	}
	return strings.Join(kinds, ",")
}

func thinks(m *catalog.Model) string {
	t := m.Thinking
	if t.Mode == llm.ThinkingNone {
		return "-"
	}
	low, high := t.Clamp(llm.LevelMinimal), t.Clamp(llm.LevelXHigh)
	if low == high {
		return string(low)
	}
	return string(low) + "–" + string(high)
}

// modelJSON is a model as --json writes it. Absent prices are unknown.
type modelJSON struct {
	Provider      string             `json:"provider"`
	ID            string             `json:"id"`
	Name          string             `json:"name,omitempty"`
	Canonical     string             `json:"canonical,omitempty"`
	API           llm.API            `json:"api"`
	BaseURL       string             `json:"baseUrl,omitempty"`
	ContextWindow int                `json:"contextWindow,omitempty"`
	MaxOutput     int                `json:"maxTokens,omitempty"`
	Input         []llm.Modality     `json:"input"`
	Thinking      []llm.Level        `json:"thinking,omitempty"`
	Cost          map[string]float64 `json:"cost,omitempty"`
	Unreliable    bool               `json:"costUnreliable,omitempty"`
	Released      string             `json:"released,omitempty"`
	Origin        catalog.Origin     `json:"origin"`
	Available     bool               `json:"available"`
}

func writeModelsJSON(out io.Writer, models *catalog.Registry, list []*catalog.Model) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, m := range list {
		j := modelJSON{
			Provider: m.Provider, ID: m.ID, Name: m.Name, Canonical: models.Canonical(m), API: m.API, BaseURL: m.BaseURL,
			ContextWindow: m.ContextWindow, MaxOutput: m.MaxOutput, Input: m.Input, Thinking: m.Thinking.Levels,
			Unreliable: m.Price.Unreliable, Released: m.Released, Origin: m.Origin, Available: models.Available(m),
		}
		for name, r := range map[string]llm.Rate{"input": m.Price.Input, "output": m.Price.Output, "cacheRead": m.Price.CacheRead, "cacheWrite": m.Price.CacheWrite} {
			if !r.Known() {
				continue
			}
			if j.Cost == nil {
				j.Cost = map[string]float64{}
			}
			j.Cost[name] = r.Dollars()
		}
		if err := enc.Encode(j); err != nil {
			return err
		}
	}
	return nil
}
