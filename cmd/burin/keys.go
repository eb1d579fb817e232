package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/installed"
	"github.com/burin-dev/burin/internal/model/connect"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/internal/model/credential/oauth"
	"github.com/burin-dev/burin/internal/prose"
)

// withModels runs work with the models open.
func (p *program) withModels(work func(*connect.Models) error) error {
	models, err := p.models()
	if models == nil {
		return err
	}
	defer models.Close()
	if err != nil { // these commands do no harm without models.yml
		p.warn(words.Error(err) + "; using the built-in models")
	}
	return work(models)
}

// models are not nil where only models.yml is at fault.
func (p *program) models() (*connect.Models, error) {
	h, err := p.host(nil)
	if err != nil {
		return nil, err
	}
	return h.OpenModels()
}

func loginCommand(p *program) *cobra.Command {
	var o credential.LoginOptions
	cmd := &cobra.Command{
		Use:   "login [PROVIDER]",
		Short: "Log in to a provider in the browser",
		Long: `Log in to a provider in the browser and keep the credential, sealed, on this
machine. Without a provider it lists those that have a login. Other programs'
logins are never borrowed.`,
		Args:              arguments(0, 1),
		ValidArgsFunction: p.offer(func(m *connect.Models) []string { return m.Logins() }),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withModels(func(m *connect.Models) error {
				if len(args) == 0 {
					return listLogins(p, m)
				}
				info, err := m.Keys.Login(cmd.Context(), args[0], o, loginUI(p))
				if err != nil {
					return err
				}
				fmt.Fprintf(p.out, "Logged in to %s. The credential has id %d; burin keys lists it.\n", info.Provider, info.ID)
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&o.Device, "device", false, "type a code on another device instead of using a browser on this one")
	cmd.Flags().StringVar(&o.Label, "label", "", "a name to tell this login from others")
	return cmd
}

func listLogins(p *program, m *connect.Models) error {
	for _, id := range m.Logins() {
		fmt.Fprintln(p.out, id)
	}
	fmt.Fprintln(p.err, "burin: name one of these: burin login PROVIDER; for others store a key: burin keys add PROVIDER")
	return nil
}

func loginUI(p *program) oauth.UI {
	ui := oauth.UI{
		Show: func(n oauth.Notice) {
			if n.UserCode != "" {
				fmt.Fprintf(p.err, "Open %s and type the code %s\n", n.URL, n.UserCode)
				return
			}
			fmt.Fprintf(p.err, "Log in here; a browser should open by itself:\n\n  %s\n\n", n.URL)
		},
		Open: openBrowser,
	}
	if term.IsTerminal(int(p.in.Fd())) {
		lines := bufio.NewReader(p.in)
		ui.Paste = func(_ context.Context, problem string) (string, error) {
			if problem != "" {
				fmt.Fprintf(p.err, "That did not work: %s\n", problem)
			}
			fmt.Fprint(p.err, "Or paste the address the browser ended at: ")
			return lines.ReadString('\n')
		}
	}
	return ui
}

// openBrowser asks the desktop to show a page. Nothing but a page: the desktop would start
// what belongs to another kind of address, and take a word that begins with "-" for an
// option.
func openBrowser(page string) error {
	if u, err := url.Parse(page); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("%q is not the address of a page", page)
	}
	name, args := "xdg-open", []string{page}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", page}
	}
	cmd, err := installed.Command(context.Background(), nil, name, args...)
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // whatever becomes of the browser, the login goes on
	return nil
}

func logoutCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:               "logout PROVIDER",
		Short:             "Remove the logins of a provider",
		Args:              arguments(1, 1),
		ValidArgsFunction: p.offer(func(m *connect.Models) []string { return m.Logins() }),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withModels(func(m *connect.Models) error {
				n, err := m.Keys.Logout(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if n == 0 {
					return fmt.Errorf("no login for %s; to remove a stored key: burin keys remove ID", args[0])
				}
				fmt.Fprintf(p.out, "Removed %s of %s from this machine.\n", prose.Count(n, "login"), args[0])
				return nil
			})
		},
	}
}

func keysCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Show, add and remove credentials",
		Long: `Show which credentials there are and where each comes from. Secrets are never
shown. Stored keys are sealed with a key from the system's keyring, or from a
file only you can read where there is none.`,
		Example: `  burin keys add anthropic             # asks for the key and stores it
  burin keys import .env               # stores all keys of a file`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withModels(func(m *connect.Models) error { return listKeys(cmd.Context(), p, m) })
		},
	}
	cmd.AddCommand(keysAddCommand(p), keysImportCommand(p),
		keysIDCommand(p, "remove", "Delete a stored credential", "Removed", (*credential.Manager).Remove),
		keysIDCommand(p, "enable", "Use a disabled or blocked credential again", "Enabled", (*credential.Manager).Enable),
		keysIDCommand(p, "disable", "Keep a credential but do not use it", "Disabled", func(m *credential.Manager, ctx context.Context, id int64) error {
			return m.Disable(ctx, id, "disabled by hand")
		}))
	return cmd
}

func listKeys(ctx context.Context, p *program, m *connect.Models) error {
	stored, err := m.Keys.List(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	if len(stored) > 0 {
		fmt.Fprintln(w, "ID\tPROVIDER\tKIND\tKEY\tLAST USED\tSTATE")
	}
	for _, c := range stored {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", c.ID, c.Provider, kind(c), name(c), when(c.LastUsed), state(c))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	found, err := m.Keys.Available(ctx, m.Catalog.Registry.Providers()...)
	if err != nil {
		return err
	}
	hasStored := func(provider string) bool {
		return slices.ContainsFunc(stored, func(c credential.Info) bool { return c.Provider == provider })
	}
	others := 0
	for _, provider := range m.Catalog.Registry.Providers() {
		source, ok := found[provider]
		if !ok || hasStored(provider) {
			continue
		}
		if others == 0 && len(stored) > 0 {
			fmt.Fprintln(p.out)
		}
		others++
		fmt.Fprintf(p.out, "%s: %s\n", provider, source.Source)
	}
	if others == 0 && len(stored) == 0 {
		fmt.Fprintln(p.err, "burin: no keys found: set a variable such as ANTHROPIC_API_KEY, or run burin keys add PROVIDER")
	}
	return nil
}

func kind(c credential.Info) string {
	if c.Kind == credential.KindOAuth {
		return "login"
	}
	return "key"
}

func name(c credential.Info) string {
	for _, s := range []string{c.Label, c.Account, c.Hint} {
		if s != "" {
			return s
		}
	}
	return "-"
}

func when(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.Local().Format("2006-01-02 15:04")
}

func state(c credential.Info) string {
	switch {
	case c.Problem != "":
		return c.Problem
	case c.Disabled != "":
		return "disabled: " + c.Disabled
	case time.Now().Before(c.Blocked):
		return "blocked until " + when(c.Blocked)
	}
	return "ready"
}

func keysAddCommand(p *program) *cobra.Command {
	var label string
	cmd := &cobra.Command{
		Use:               "add PROVIDER",
		Short:             "Store an API key, read from the terminal or from standard input",
		Args:              arguments(1, 1),
		ValidArgsFunction: p.offerProviders(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withModels(func(m *connect.Models) error {
				if !m.Catalog.Registry.Knows(args[0]) {
					return fmt.Errorf("unknown provider %q: burin models --all lists the providers, and models.yml can add one", args[0])
				}
				key, err := p.readSecret(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				id, added, err := m.Keys.Add(cmd.Context(), args[0], label, credential.Secret(key))
				if err != nil {
					return err
				}
				word := "Stored"
				if !added {
					word = "Already stored"
				}
				fmt.Fprintf(p.out, "%s as key %d of %s.\n", word, id, args[0])
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&label, "label", "", "a name to tell this key from others")
	return cmd
}

// maxSecret is the longest key accepted, in bytes.
const maxSecret = 64 << 10

// readSecret reads a key without showing it.
func (p *program) readSecret(ctx context.Context, provider string) (string, error) {
	var raw []byte
	var err error
	if term.IsTerminal(int(p.in.Fd())) {
		fmt.Fprintf(p.err, "Key for %s (it is not shown): ", provider)
		raw, err = readHidden(ctx, int(p.in.Fd()))
		fmt.Fprintln(p.err)
	} else {
		raw, err = io.ReadAll(io.LimitReader(interruptible(ctx, p.in), maxSecret+1))
	}
	if err != nil {
		return "", fmt.Errorf("read the key: %w", err)
	}
	key := strings.TrimSpace(string(raw))
	switch {
	case key == "":
		return "", errors.New("no key given: type it, or pipe it in")
	case len(raw) > maxSecret || strings.ContainsAny(key, "\n\r\x00"):
		return "", errors.New("that is not one key: give a single line")
	}
	return key, nil
}

// readHidden reads a line from a terminal that does not show it. An interrupt
// leaves the terminal as it was.
func readHidden(ctx context.Context, fd int) ([]byte, error) {
	before, err := term.GetState(fd)
	if err != nil {
		return nil, err
	}
	type result struct {
		line []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		line, err := term.ReadPassword(fd)
		done <- result{line, err}
	}()
	select {
	case got := <-done:
		return got.line, got.err
	case <-ctx.Done():
		_ = term.Restore(fd, before)
		return nil, ctx.Err()
	}
}

func keysImportCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:               "import FILE",
		Short:             "Store the keys of a file with NAME=value lines; - is standard input",
		Args:              arguments(1, 1),
		ValidArgsFunction: p.offerProviders(),
		RunE: func(cmd *cobra.Command, args []string) error {
			in := interruptible(cmd.Context(), p.in)
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return fmt.Errorf("read the keys: %w", err)
				}
				defer f.Close()
				in = f
			}
			return p.withModels(func(m *connect.Models) error {
				done, err := m.Keys.Import(cmd.Context(), in, m.Catalog.Registry.Knows)
				if err != nil {
					return err
				}
				return reportImport(p, done)
			})
		},
	}
}

// reportImport says what became of each variable. Those that belong to no
// provider are not mentioned: a .env file holds many.
func reportImport(p *program, done []credential.Imported) error {
	found := false
	var failures []error
	for _, i := range done {
		found = found || i.Provider != ""
		switch {
		case i.Err != nil:
			failures = append(failures, fmt.Errorf("%s: %w", i.Variable, i.Err))
		case i.Added:
			fmt.Fprintf(p.out, "%s: stored as key %d of %s\n", i.Variable, i.ID, i.Provider)
		case i.ID != 0:
			fmt.Fprintf(p.out, "%s: already stored as key %d of %s\n", i.Variable, i.ID, i.Provider)
		}
	}
	if !found {
		return errors.New("no keys found there: want lines such as OPENAI_API_KEY=..., without export")
	}
	return errors.Join(failures...)
}

// keysIDCommand is a subcommand that does one thing to one credential.
func keysIDCommand(p *program, verb, short, done string, do func(*credential.Manager, context.Context, int64) error) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " ID",
		Short: short,
		Args:  arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return usage("%q is not the id of a credential: burin keys shows them", args[0])
			}
			return p.withModels(func(m *connect.Models) error {
				if err := do(m.Keys, cmd.Context(), id); err != nil {
					return err
				}
				fmt.Fprintf(p.out, "%s credential %d.\n", done, id)
				return nil
			})
		},
	}
}
