package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/chat/gremlin"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/internal/prose"
)

// storageCommand manages what the server keeps for clients of GremlinOFA.
func storageCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "storage",
		Short: "Keep, back up and restore the data of GremlinOFA",
		Long: `Keep, back up and restore the data of GremlinOFA, a chat application in the browser. With
server.storage burin serve is its storage server, for the keys that you add here. The
key is read from standard input, or asked for; --key-file names a file with it.

  burin admin storage add laptop --key-file key.txt
  burin admin storage list
  burin admin storage export backup.csv --key-file key.txt
  burin admin storage import backup.csv --key-file key.txt`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return listStorage(cmd.Context(), p, false) },
	}
	cmd.AddCommand(storageAddCommand(p), storageListCommand(p), storageRemoveCommand(p), storageExportCommand(p), storageImportCommand(p))
	return cmd
}

// withServerDatabase opens the server's database for a while.
func withServerDatabase(ctx context.Context, p *program, do func(*store.DB) error) error {
	paths, err := config.FindPaths(p.getenv)
	if err != nil {
		return err
	}
	dir, err := archive.WorkDir()
	if err != nil {
		return err
	}
	h, err := p.hostIn(&askFlags{}, dir, func(line string) { p.warn(words.Line(line)) })
	if err != nil {
		return err
	}
	defer p.closeHost(ctx, h)
	settings, err := h.Settings()
	if err != nil {
		return err
	}
	db, err := serverDatabase(ctx, p, paths, settings)
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // what was written is there
	return do(db)
}

// storageKey reads a key, from a file or from standard input. It is never on a command line, which
// other users of the machine see.
func storageKey(ctx context.Context, p *program, file string) (*gremlin.Key, error) {
	var text string
	var err error
	if file == "" {
		text, err = p.readSecret(ctx, "GremlinOFA")
	} else {
		text, err = secretFile(file)
	}
	if err != nil {
		return nil, err
	}
	key, err := gremlin.ParseKey(text)
	if err != nil {
		return nil, fmt.Errorf("%w; GremlinOFA shows it under Data Manager", err)
	}
	return key, nil
}

func secretFile(path string) (string, error) {
	data, err := smallfile.Read(path, maxSecret)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", words.ShortPath(path), archive.Pathless(err))
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}

func storageAddCommand(p *program) *cobra.Command {
	var keyFile, passwordFile string
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Serve the clients with a key",
		Long: `Serve the clients with a key from now on; the name is for you. burin keeps a hash of what
is derived from the key, not the key. With a password, clients must have it, too. To give a
key that is there another name or password, add it again.

  burin admin storage add laptop --key-file key.txt`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			password := ""
			if passwordFile != "" {
				var err error
				if password, err = secretFile(passwordFile); err != nil {
					return err
				}
			}
			key, err := storageKey(cmd.Context(), p, keyFile)
			if err != nil {
				return err
			}
			return withServerDatabase(cmd.Context(), p, func(db *store.DB) error {
				_, err := gremlin.NewTenants(db).Register(cmd.Context(), ownerPerson, args[0], key.Tenant(), gremlin.PasswordHash(password))
				switch {
				case errors.Is(err, gremlin.ErrInvalid):
					return usage("%w", err)
				case err != nil:
					return err
				}
				fmt.Fprintln(p.out, "Added. With server.storage, burin serve takes its clients at /storage.")
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&keyFile, "key-file", "", "`FILE` with the key; without it, standard input")
	cmd.Flags().StringVar(&passwordFile, "password-file", "", "`FILE` with the password that clients give; without it, any is good")
	return cmd
}

func storageListCommand(p *program) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the keys whose clients are served",
		Long: `List the keys whose clients are served, by their names, and how much is stored for each.

  burin admin storage list --json`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return listStorage(cmd.Context(), p, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func listStorage(ctx context.Context, p *program, asJSON bool) error {
	return withServerDatabase(ctx, p, func(db *store.DB) error {
		all, err := gremlin.NewTenants(db).List(ctx, ownerPerson)
		if err != nil {
			return err
		}
		if asJSON {
			return p.writeJSON(all)
		}
		if len(all) == 0 {
			fmt.Fprintln(p.err, "No keys. burin admin storage add NAME adds one.")
			return nil
		}
		w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tNAME\tADDED\tPASSWORD\tROWS\tSIZE")
		for _, t := range all {
			password := "no"
			if t.Password {
				password = "yes"
			}
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%d\t%.1f MB\n", t.Number, prose.Inline(t.Name), words.Stamp(t.Created), password, t.Rows, float64(t.Bytes)/1e6)
		}
		return w.Flush()
	})
}

func storageRemoveCommand(p *program) *cobra.Command {
	records := false
	cmd := &cobra.Command{
		Use:   "remove ID",
		Short: "Stop serving the clients with a key",
		Long: `Stop serving the clients with a key. What they have stored stays, and is there again when the
key is added again; with --records it is deleted.

  burin admin storage remove 1`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return usage("%q is not an id: burin admin storage list shows them", args[0])
			}
			return withServerDatabase(cmd.Context(), p, func(db *store.DB) error {
				err := gremlin.NewTenants(db).Remove(cmd.Context(), ownerPerson, id, records)
				switch {
				case errors.Is(err, gremlin.ErrTenant):
					return usage("there is no key %d: burin admin storage list shows them", id)
				case err != nil:
					return err
				}
				fmt.Fprintln(p.out, "Removed.")
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&records, "records", false, "also delete what its clients have stored")
	return cmd
}

// withRecords gives what is stored, in a file of the original or in the server's database; tenants are
// those of the latter.
func withRecords(ctx context.Context, p *program, file string, do func(r *gremlin.Records, tenants *gremlin.Tenants) error) error {
	if file == "" {
		return withServerDatabase(ctx, p, func(db *store.DB) error { return do(gremlin.NewRecords(db), gremlin.NewTenants(db)) })
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return usage("--database: %s isn't there", words.ShortPath(file))
	}
	r, err := gremlin.OpenRecords(ctx, file)
	if err != nil {
		return err
	}
	return errors.Join(do(r, nil), r.Close())
}

func storageExportCommand(p *program) *cobra.Command {
	var keyFile, database string
	models := false
	cmd := &cobra.Command{
		Use:   "export FILE",
		Short: "Write a backup that GremlinOFA can import",
		Long: `Write a backup of what clients with a key have stored, as the CSV file that GremlinOFA imports;
FILE - is standard output. The records stay encrypted with the key. Unlike GremlinOFA's own
backup it has the files of projects.

  burin admin storage export backup.csv --key-file key.txt
  burin admin storage export backup.csv --key-file key.txt --database data.db`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := storageKey(cmd.Context(), p, keyFile)
			if err != nil {
				return err
			}
			return withRecords(cmd.Context(), p, database, func(r *gremlin.Records, _ *gremlin.Tenants) error {
				var e gremlin.Exported
				write := func(to io.Writer) (err error) {
					e, err = r.Export(cmd.Context(), to, key, models)
					return err
				}
				if args[0] == "-" {
					err = write(p.out)
				} else {
					err = createFile(args[0], func(f *os.File) error { return write(f) })
				}
				if errors.Is(err, gremlin.ErrEmpty) {
					return errors.New("nothing is stored with this key: check the key, and --database")
				}
				if err != nil {
					return fmt.Errorf("export: %w", archive.Pathless(err))
				}
				fmt.Fprintf(p.err, "Exported %s.\n", prose.Count(e.Rows, "row"))
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&keyFile, "key-file", "", "`FILE` with the key; without it, standard input")
	cmd.Flags().StringVar(&database, "database", "", "a data.db of GremlinOFA's server, `FILE`, instead of burin's database")
	cmd.Flags().BoolVar(&models, "models", false, "also write the lists of models that clients have cached")
	return cmd
}

func storageImportCommand(p *program) *cobra.Command {
	var keyFile, fromFile, database string
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Read a backup of GremlinOFA",
		Long: `Read a backup of GremlinOFA; FILE - is standard input. Rows that are there stay, except for API
definitions without a key. After an error, import the file again: it goes on.

If the clients have another key than the backup, --from-key-file names the file with the
backup's key, and each record is encrypted again. Nothing is written with a wrong key.

  burin admin storage import backup.csv --key-file key.txt
  burin admin storage import old.csv --key-file new.txt --from-key-file old.txt`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "-" && keyFile == "" {
				return usage("the backup and the key can't both come from standard input: give --key-file")
			}
			return importStorage(cmd.Context(), p, args[0], keyFile, fromFile, database)
		},
	}
	cmd.Flags().StringVar(&keyFile, "key-file", "", "`FILE` with the key of the clients; without it, standard input")
	cmd.Flags().StringVar(&fromFile, "from-key-file", "", "`FILE` with the key of the backup, if it is another")
	cmd.Flags().StringVar(&database, "database", "", "a data.db of GremlinOFA's server, `FILE`, instead of burin's database")
	return cmd
}

func importStorage(ctx context.Context, p *program, path, keyFile, fromFile, database string) error {
	to, err := storageKey(ctx, p, keyFile)
	if err != nil {
		return err
	}
	from := to
	if fromFile != "" {
		if from, err = storageKey(ctx, p, fromFile); err != nil {
			return err
		}
	}
	in := interruptible(ctx, p.in)
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("read %s: %w", words.ShortPath(path), archive.Pathless(err))
		}
		defer f.Close() //nolint:errcheck // it was only read
		in = f
	}
	return withRecords(ctx, p, database, func(r *gremlin.Records, tenants *gremlin.Tenants) error {
		got, err := r.Import(ctx, in, from, to)
		if errors.Is(err, gremlin.ErrKey) {
			return fmt.Errorf("%s was made with another key: nothing was imported", words.ShortPath(path))
		}
		sayImported(p, got)
		if err != nil {
			return fmt.Errorf("import %s: %w", words.ShortPath(path), archive.Pathless(err))
		}
		if tenants != nil {
			known, err := tenants.Known(ctx, to.Tenant())
			if err != nil {
				return err
			}
			if !known {
				fmt.Fprintln(p.err, "No client is served with this key yet: burin admin storage add NAME adds it.")
			}
		}
		if n := len(got.Errors) + got.NotListed; n > 0 {
			return fmt.Errorf("%s could not be imported", prose.Count(n, "row"))
		}
		return nil
	})
}

// sayImported says what became of the rows of a backup.
func sayImported(p *program, got gremlin.Imported) {
	for _, line := range got.Errors {
		p.warn(words.Line(line))
	}
	if got.NotListed > 0 {
		p.warn(fmt.Sprintf("and %d more", got.NotListed))
	}
	replaced := ""
	if got.Replaced > 0 {
		replaced = fmt.Sprintf(" (%s replaced that had no key)", prose.Count(got.Replaced, "definition"))
	}
	fmt.Fprintf(p.out, "%s imported%s, %d skipped.\n", prose.Count(got.Rows+got.Replaced, "row"), replaced, got.Skipped)
	if got.Damaged > 0 {
		p.warn(fmt.Sprintf("%s destroyed by an earlier import of GremlinOFA with another key: nobody can read them again, an older backup has them", are(got.Damaged)))
	}
	if got.Unopened > 0 {
		p.warn(fmt.Sprintf("%s encrypted with another key, and imported as they are", are(got.Unopened)))
	}
}

func are(n int) string {
	if n == 1 {
		return "1 record is"
	}
	return fmt.Sprintf("%d records are", n)
}
