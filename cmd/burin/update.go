package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/host/update"
	"github.com/burin-dev/burin/internal/host/words"
)

func updateCommand(p *program) *cobra.Command {
	var check, back bool
	var wanted string
	cmd := &cobra.Command{
		Use:   "update",
		Short: "Replace burin by its newest release",
		Long: `Replace this burin by the newest release. burin checks the release's signature and
checksum first, and keeps the program it replaces. Running sessions keep working. A burin
that a package manager installed is left alone.

  burin update
  burin update --check             only say whether there is a newer one
  burin update --back              go back to the one before`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case back && (check || wanted != ""):
				return usage("--back contradicts --check and --version: it goes back to the burin before")
			case check && wanted != "":
				return usage("--check and --version contradict each other: --check looks for the newest release")
			}
			u, err := p.updater()
			if err != nil {
				return err
			}
			switch {
			case check:
				return p.checkUpdate(cmd.Context(), u)
			case back:
				r, err := u.Back(cmd.Context())
				if err != nil {
					return err
				}
				fmt.Fprintf(p.out, "This is burin %s again. burin update --back undoes that.\n", r.Version)
				return nil
			}
			return p.update(cmd.Context(), u, wanted)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "only say whether there is a newer release")
	cmd.Flags().BoolVar(&back, "back", false, "go back to the burin that the last update replaced")
	cmd.Flags().StringVar(&wanted, "version", "", "install this version, also an older one")
	return cmd
}

// ownVersion is the version without the commit.
func ownVersion() string {
	own, _, _ := strings.Cut(version(), " ")
	return own
}

// updater updates this program.
func (p *program) updater() (*update.Updater, error) {
	return update.New(update.Options{Version: ownVersion(), Getenv: p.getenv, Say: func(line string) { fmt.Fprintln(p.out, line) }})
}

// checkUpdate says whether there is a newer release.
func (p *program) checkUpdate(ctx context.Context, u *update.Updater) error {
	newest, err := u.Newest(ctx)
	if err != nil {
		return err
	}
	own := ownVersion()
	switch {
	case !u.Released():
		fmt.Fprintf(p.out, "The newest release is burin %s. This burin (%s) was built from source.\n", newest.Version, own)
	case u.Newer(newest.Version):
		fmt.Fprintf(p.out, "burin %s is available, this is %s: %s\n", newest.Version, own, u.How(ctx))
	default:
		fmt.Fprintf(p.out, "burin %s is up to date. The newest release is %s.\n", own, newest.Version)
	}
	return nil
}

// update installs a version, or the newest.
func (p *program) update(ctx context.Context, u *update.Updater, wanted string) error {
	if err := u.Able(ctx); err != nil {
		return err
	}
	find := u.Newest
	if wanted != "" {
		find = func(ctx context.Context) (update.Release, error) { return u.Find(ctx, wanted) }
	}
	r, err := find(ctx)
	if err != nil {
		return err
	}
	if r.Version == ownVersion() {
		fmt.Fprintf(p.out, "burin %s is already installed.\n", r.Version)
		return nil
	}
	done, err := u.Install(ctx, r)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "burin %s is installed. The one before is %s; burin update --back restores it.\n", done.Version, words.ShortPath(done.Former))
	return nil
}
