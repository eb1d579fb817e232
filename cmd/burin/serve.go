package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/internal/chat/attachment"
	"github.com/burin-dev/burin/internal/chat/gremlin"
	"github.com/burin-dev/burin/internal/chat/oidc"
	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/private"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/push"
	"github.com/burin-dev/burin/internal/chat/quota"
	"github.com/burin-dev/burin/internal/chat/search"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/chats"
	"github.com/burin-dev/burin/internal/host/owner"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/mode/server"
	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/internal/sorting"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/remote"
	"github.com/burin-dev/burin/transcript/index"
)

const (
	serveAddress  = "127.0.0.1:4647"     // where the server listens unless a flag says it
	tokenVariable = "BURIN_SERVER_TOKEN" // the token, for the server and those who attach
	tokenSize     = 16                   // characters of the shortest token
)

// serveCommand serves the sessions of this machine over HTTP.
func serveCommand(p *program) *cobra.Command {
	var a askFlags
	o := serveOptions{address: serveAddress}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the sessions of this machine to programs, over HTTP",
		Long: `Serve the sessions of this machine over HTTP: programs list, begin, follow and steer them, also
those that are open in a terminal, and burin attach joins one. It prints a link that signs your
browser in; programs need a token. Only this machine reaches it, unless a flag gives it a
certificate. burin help flags has more flags.

  burin serve --lan
  burin serve --acme burin.example.org`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("addr") {
				switch {
				case o.lan:
					o.address = ":4647"
				case len(o.acme) > 0:
					o.address = acmeAddress
				}
			}
			return serve(cmd.Context(), p, a, o)
		},
	}
	a.register(cmd.Flags())
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	own.StringVar(&o.address, "addr", o.address, "the `ADDRESS` to listen at; port 0 is free")
	own.StringVar(&o.cert, "tls-cert", "", "`FILE` with the certificate chain, for https")
	own.StringVar(&o.key, "tls-key", "", "`FILE` with the certificate's key")
	own.BoolVar(&o.lan, "lan", false, "serve the local network, with a certificate of its own")
	own.StringArrayVar(&o.acme, "acme", nil, "have Let's Encrypt certify a public `NAME`; accepts its terms")
	own.StringVar(&o.acmeEmail, "acme-email", "", "the `ADDRESS` that the authority writes to when something is wrong")
	own.StringVar(&o.acmeDirectory, "acme-directory", "", "the `URL` of another authority for --acme, whose terms you accept")
	own.StringVar(&o.acmeHTTP, "acme-http", acmeHTTP, "where the authority may also ask by http, an `ADDRESS`; \"\" is nowhere")
	own.StringArrayVar(&o.proxies, "proxy", nil, "believe a proxy in this `CIDR` who its clients are")
	own.IntVar(&o.drain, "drain", 10, "`SECONDS` that turns have when the server ends")
	own.StringArrayVar(&o.hosts, "host", nil, "another `NAME` to answer to, as a proxy's; repeatable")
	own.BoolVar(&o.log, "log", false, "write a line for each request to standard error")
	own.BoolVar(&o.storageOnly, "storage-only", false, "only take the place of GremlinOFA's storage server")
	own.BoolVar(&o.check, "check", false, "check that the server could start, and exit")
	cmd.Flags().AddFlagSet(own)
	cmd.Flags().VisitAll(func(f *pflag.Flag) { // those that matter to most; docs/serve.md and burin help flags have all
		f.Hidden = own.Lookup(f.Name) == nil || strings.HasPrefix(f.Name, "acme-")
	})
	return cmd
}

// serveOptions are the flags of the server itself.
type serveOptions struct {
	address                 string
	cert, key               string   // files; "" is without TLS
	hosts                   []string // names besides those of this machine and the certificate
	log, check              bool
	lan                     bool     // at the private addresses, with a certificate of this machine's authority
	acme                    []string // names for certificates of a public authority
	acmeEmail               string
	acmeDirectory, acmeHTTP string
	proxies                 []string // addresses whose headers say who the client is
	drain                   int      // seconds that turns have when the server ends
	// pair makes a path that signs in whoever opens it first.
	pair        func(ctx context.Context) (path string, err error)
	storageOnly bool // nothing but the storage of GremlinOFA, in place of its own server
}

// serve answers until it is told to end.
func serve(ctx context.Context, p *program, a askFlags, o serveOptions) error {
	if o.storageOnly {
		return serveStorage(ctx, p, o)
	}
	for flag, given := range map[string]bool{
		"--print": a.print, "--steps": a.steps, "--json-schema": a.schema != "", "--continue": a.goOn, "--resume": a.resume != "",
		"--session": a.session != "", "--no-session": a.noSession, "--add-dir": len(a.addDirs) > 0,
	} {
		if given {
			return usage("%s is not for servers, whose clients choose the session and the prompt", flag)
		}
	}
	if err := a.check(); err != nil {
		return err
	}
	proxies, err := proxyList("--proxy", o.proxies)
	if err != nil {
		return err
	}
	if o.drain < 0 {
		return usage("--drain: must be 0 or more seconds, not %d", o.drain)
	}
	paths, err := config.FindPaths(p.getenv)
	if err != nil {
		return err
	}
	var k *kept
	o.pair = func(ctx context.Context) (string, error) {
		secret, err := k.people.Links().Link(ctx, people.By{Person: people.OwnerID}, people.OwnerID)
		return "/open/" + secret, err
	}
	l, err := listen(ctx, p, paths, o)
	if err != nil {
		return err
	}
	at := l.at
	token, err := serverToken(p, paths, at, o.check)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	p.sealing.AskWith(func(context.Context, string) (string, error) {
		return "", errors.New("a server can't ask for a pass phrase: set BURIN_SESSION_PASSPHRASE, or open the session in a terminal first")
	})
	if k, err = newKept(ctx, p, a, paths, at); err != nil {
		return errors.Join(err, l.Close())
	}
	defer k.db.Close() //nolint:errcheck // nothing is written any more
	defer k.vault.Close()
	defer k.close(ctx)
	defer k.sessions.Close()
	defer k.chats.Close()
	if err := k.ready(ctx); err != nil {
		return errors.Join(err, l.Close())
	}
	if o.check {
		fmt.Fprintf(p.out, "burin can serve at %s.\n", at)
		return l.Close()
	}
	defer k.tend(ctx, p.warn)()
	so := server.Options{
		Version: version(), Changes: burin.Changelog(), Storage: k.storage, Push: k.push, People: k.people, Token: token, List: k.list, May: k.may, Face: k.faceOf, Moved: k.moved, New: k.begin, Fork: k.fork, Watch: k.watch.Listen, Folders: k.listFolders, Machines: k.machines.list, Ready: k.ready,
		Projects: k.projects, Finder: k.finder, Attachments: k.attachments, Private: k.private, Busy: k.chats.Busy, End: k.chats.End, Open: func() int { return k.sessions.Len() + k.chats.Len() },
		Host: func(name string) bool {
			return slices.ContainsFunc(o.hosts, func(h string) bool { return strings.EqualFold(h, name) }) || l.names != nil && l.names(name)
		},
		Vault: k.vault, Export: k.export, Used: k.used, Spent: k.quotas.Spending, Models: k.models, MayUse: k.mayUse, Connections: host.NewConnections(k.here),
		Proxies:   append(proxies, k.proxies...),
		PeerToken: k.peerToken(),
		Providers: k.signIn,
		Drain: func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, time.Duration(o.drain)*time.Second)
			defer cancel()
			var all sync.WaitGroup
			all.Go(func() { k.sessions.Drain(ctx) })
			all.Go(func() { k.chats.Drain(ctx) })
			all.Wait()
		},
	}
	if o.log {
		so.Log = slog.New(slog.NewJSONHandler(p.err, nil))
	}
	fmt.Fprintf(p.err, "burin serves at %s. The token is in %s; burin attach %s joins the last session.\n", at, words.ShortPath(serverFile(paths)), at)
	if err := k.sayLink(ctx, p, at); err != nil {
		return errors.Join(err, l.Close())
	}
	fmt.Fprintln(p.out, at)
	if l.begun != nil {
		var beside sync.WaitGroup
		defer beside.Wait()
		inner, stop := context.WithCancel(ctx)
		defer stop()
		beside.Go(func() { l.begun(inner) })
	}
	s := server.NewServer(so)
	k.server.Store(s)
	return s.Serve(ctx, l)
}

// onlyHere refuses an address that others reach.
func onlyHere(address string) error {
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		return usage("--addr: %q is not in the form 127.0.0.1:4647", address)
	}
	if ip, err := netip.ParseAddr(name); name != "localhost" && (err != nil || !ip.IsLoopback()) {
		return usage("--addr: others would reach %q, and the token would cross the network in the clear: give --tls-cert and --tls-key, or listen at 127.0.0.1 and forward the port with ssh -L", address)
	}
	return nil
}

// served is what a server leaves for those who attach to it.
type served struct {
	URL   string `json:"url"`
	Token string `json:"token"`
}

func serverFile(paths config.Paths) string { return filepath.Join(paths.State, "server.json") }

// serverToken gives the token, which stays the same from one server to the next, and writes
// down where this one is.
// With look it writes nothing.
func serverToken(p *program, paths config.Paths, at string, look bool) (string, error) {
	token := p.getenv(tokenVariable)
	if token != "" && len(token) < tokenSize {
		return "", usage("%s: a token has at least %d characters", tokenVariable, tokenSize)
	}
	if token != "" {
		return token, nil // it is whoever's who set it
	}
	old, err := readServed(paths)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	token = old.Token
	if len(token) < tokenSize {
		token = rand.Text()
	}
	if look {
		return token, nil
	}
	if err := os.MkdirAll(paths.State, 0o700); err != nil {
		return "", fmt.Errorf("keep the server's token: %w", err)
	}
	data, err := json.Marshal(served{at, token})
	if err == nil {
		err = smallfile.Replace(serverFile(paths), append(data, '\n'))
	}
	if err == nil {
		err = os.Chmod(serverFile(paths), 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("keep the server's token: %w", err)
	}
	return token, nil
}

func readServed(paths config.Paths) (s served, err error) {
	data, err := smallfile.Read(serverFile(paths), 64<<10)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("read %s: %w; delete it, and burin serve makes a new one", words.ShortPath(serverFile(paths)), err)
	}
	return s, nil
}

// kept is the program around the server.
type kept struct {
	*hosts
	sessions *owner.Keeper
	archive  *archive.Archive
	people   *people.People
	db       *store.DB
	vault    *vault.Vault
	projects *project.Store
	finder   *project.Finder
	chats    *chats.Chats
	storage  *gremlin.API   // nil: it is off
	proxies  []netip.Prefix // of the settings
	signIn   []*oidc.Provider
	machines *machines

	pieces      *attachment.Store
	attachments *project.Attachments
	index       *search.Index
	private     *private.Store
	quotas      *quota.Quotas
	exports     chan struct{}                 // that run
	server      atomic.Pointer[server.Server] // nil: it has not begun
	here        *host.Host                    // of the folder where the server was started, which chats use
	push        *push.Store                   // nil: it is off
	looking     lookers                       // those who follow sessions of this machine
	watch       *owner.Watch                  // tells what these do
	subscribed  chan struct{}                 // has room for one: a browser has subscribed to notifications
	folders     []string                      // in which a browser may begin sessions, and in those below them
}

func newKept(ctx context.Context, p *program, a askFlags, paths config.Paths, at string) (*kept, error) {
	k := &kept{hosts: newHosts(p, a)}
	dir, err := archive.WorkDir()
	if err != nil {
		return nil, err
	}
	here, err := k.in(dir)
	if err != nil {
		return nil, err
	}
	settings, err := here.Settings()
	if err != nil {
		return nil, err
	}
	if k.proxies, err = proxyList("server.proxies", settings.Server.Proxies); err != nil {
		return nil, err
	}
	for _, dir := range settings.Server.Folders {
		if strings.HasPrefix(dir, "~/") {
			dir = archive.HomePath(dir)
		}
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("server.folders: %q is not an absolute path", dir)
		}
		k.folders = append(k.folders, dir)
	}
	if k.machines, err = machinesOf(settings.Server.Machines, p.getenv); err != nil {
		return nil, err
	}
	if k.signIn, err = providers(settings.Server.OIDC, p.getenv); err != nil {
		return nil, err
	}
	if k.archive, err = here.Archive(nil); err != nil {
		return nil, err
	}
	k.sessions = &owner.Keeper{
		Place: owner.Place{Data: paths.Data, Getenv: p.getenv},
		Idle:  time.Duration(settings.Int("background.idle")) * time.Second,
		Open:  k.resume,
	}
	k.watch = &owner.Watch{Place: k.sessions.Place, Keeper: k.sessions, Folders: k.sessionFolders}
	if err := k.openRooms(ctx, p, paths, settings); err != nil {
		return nil, err
	}
	if k.people, err = people.Open(ctx, k.db, k.vault, nil); err != nil {
		return nil, errors.Join(err, k.db.Close())
	}
	k.people.Locks = k.vault
	if k.storage, err = storageFor(p, settings, k.db); err != nil {
		return nil, errors.Join(err, k.db.Close())
	}
	k.projects = project.New(k.db, k.vault, vfs.New(k.db, vfs.Limits{}), k.index, k.pieces)
	k.attachments = project.NewAttachments(k.projects)
	k.finder = project.NewFinder(k.projects)
	if err := k.openPush(settings); err != nil {
		return nil, errors.Join(err, k.db.Close())
	}
	k.private = private.New(k.db)
	k.quotas = quota.New(k.db, project.Bytes, k.pieces.Size, private.Bytes)
	k.projects.Name = func(ctx context.Context, person string) string {
		is, err := k.people.Get(ctx, person)
		if err != nil {
			return "somebody" // who was removed just now, or the database says why itself
		}
		return is.Name
	}
	k.projects.Fits, k.pieces.Fits, k.private.Fits = k.quotas.Fits, k.quotas.Fits, k.quotas.Fits
	k.here, k.exports = here, make(chan struct{}, maxExports)
	k.vault.OnLock(func(person string) {
		if err := project.Forget(context.WithoutCancel(ctx), k.projects, person); err != nil {
			p.warn(words.Error(err))
		}
	})
	co := chats.Options{
		Store: k.projects, Finder: k.finder, Attachments: k.attachments, Push: k.push, Idle: k.sessions.Idle, Warn: p.warn, Dial: k.dialPeer,
		Open: func(ctx context.Context, c host.Chat) (*session.Session, error) {
			c.Default = a.wish().Choice
			return host.OpenChat(ctx, here, c)
		},
		Limits: k.people.Limits, Quotas: k.quotas, Keys: k.vault,
		Ended: func(id string) {
			if s := k.server.Load(); s != nil {
				server.Ended(s, id)
			}
		},
	}
	if k.db.Server() {
		co.Address = cmp.Or(settings.Server.Address, at)
	}
	k.chats = chats.New(co)
	return k, nil
}

// sayLink says how a browser is signed in. The journal of the system keeps what it is told, and
// others read it: no link is for it.
func (k *kept) sayLink(ctx context.Context, p *program, at string) error {
	if p.getenv("JOURNAL_STREAM") != "" {
		fmt.Fprintln(p.err, "burin admin link prints a link that signs your browser in.")
		return nil
	}
	secret, err := k.people.Links().Link(ctx, people.By{Person: people.OwnerID}, people.OwnerID)
	if err == nil {
		fmt.Fprintf(p.err, "Open it in your browser within 10 minutes; burin admin link prints a new link:\n%s/open/%s\n", at, secret)
	}
	return err
}

// peerToken is that of other servers of the same database; "" where there can't be any.
func (k *kept) peerToken() string {
	if !k.db.Server() {
		return ""
	}
	return k.vault.PeerToken()
}

// ready reports why the server could not work.
func (k *kept) ready(ctx context.Context) error {
	if err := k.db.Ping(ctx); err != nil {
		return err
	}
	if _, err := os.ReadDir(k.archive.Root()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look at the sessions: %w", err)
	}
	return nil
}

// list lists the sessions, with what those do that are open.
func (k *kept) list(ctx context.Context, limit int) ([]server.Listed, error) {
	open := map[string]owner.Running{}
	elsewhere, _, err := k.sessions.Place.Running(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range append(elsewhere, k.sessions.Running(ctx)...) {
		open[r.ID] = r
	}
	found, err := k.archive.List(ctx, "", 0)
	if err != nil {
		return nil, err
	}
	var all []server.Listed
	for _, f := range found {
		one := server.Listed{ID: f.ID, Title: f.Title, Folder: f.CWD, Created: f.Created, Modified: f.Modified, Parent: parentID(f.Parent)}
		if r, ok := open[f.ID]; ok {
			one.State, one.Question, one.Cost, one.Title = string(r.State), r.Question, r.Cost, cmp.Or(r.Title, one.Title)
			one.Since, one.Agents = r.Since, r.Agents
			delete(open, f.ID)
		}
		all = append(all, one)
	}
	for _, r := range open { // kept in a database, or nowhere
		all = append(all, server.Listed{ID: r.ID, Title: r.Title, Folder: r.Dir, Modified: r.Since, State: string(r.State), Question: r.Question, Cost: r.Cost, Since: r.Since, Agents: r.Agents})
	}
	sorting.Stable(all, func(a, b server.Listed) int { return b.Modified.Compare(a.Modified) })
	if limit > 0 {
		all = all[:min(limit, len(all))]
	}
	return all, nil
}

// parentID is the id of the session that a header names by its id, or by its file.
func parentID(named string) string {
	name := strings.TrimSuffix(filepath.Base(named), filepath.Ext(named))
	if _, id, ok := strings.Cut(name, "_"); ok && name != named {
		return id
	}
	return named
}

// path is the file of the session with an id.
func (k *kept) path(ctx context.Context, id string) (string, error) {
	if path, ok := k.sessions.Path(id); ok {
		return path, nil
	}
	list, err := k.archive.List(ctx, "", 0)
	if err != nil {
		return "", err
	}
	for _, f := range list {
		if f.ID == id {
			return f.Path, nil
		}
	}
	running, _, err := k.sessions.Place.Running(ctx)
	for _, r := range running {
		if r.ID == id && r.Path != "" {
			return r.Path, nil
		}
	}
	if err != nil {
		return "", err
	}
	return "", fmt.Errorf("%w %q: GET /v1/sessions lists them", server.ErrUnknown, id)
}

func (k *kept) face(ctx context.Context, id, name string, answers bool) (session.Handle, error) {
	path, err := k.path(ctx, id)
	if err != nil {
		return nil, err
	}
	return k.sessions.Face(ctx, path, name, answers)
}

// resume opens a session in the folder where it was.
func (k *kept) resume(ctx context.Context, path string) (*session.Session, error) {
	list, err := k.archive.List(ctx, "", 0)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(f index.Info) bool { return f.Path == path })
	if i < 0 || list[i].CWD == "" {
		return nil, fmt.Errorf("the folder of the session is unknown: open it in a terminal, with burin --resume %s", words.ShortPath(path))
	}
	return k.open(ctx, server.New{Folder: list[i].CWD}, path)
}

// begin begins a session.
func (k *kept) begin(ctx context.Context, who server.Who, n server.New) (server.Created, error) {
	dir, err := filepath.EvalSymlinks(n.Folder)
	if err == nil {
		var info fs.FileInfo
		if info, err = os.Stat(dir); err == nil && !info.IsDir() {
			err = errors.New("it is a file")
		}
	}
	if err != nil {
		return server.Created{}, fmt.Errorf("folder %s: %w", n.Folder, err)
	}
	if who.Device != "" {
		if _, ok := k.allowed(dir); !ok {
			return server.Created{}, k.notAllowed(n.Folder)
		}
	}
	n.Folder = dir
	s, err := k.open(ctx, n, "")
	if err != nil {
		return server.Created{}, err
	}
	b, err := k.sessions.Keep(s)
	if err != nil {
		return server.Created{}, err
	}
	return server.Created{ID: b.Facts().ID}, nil
}

func (k *kept) open(ctx context.Context, n server.New, resume string) (*session.Session, error) {
	h, err := k.in(n.Folder)
	if err != nil {
		return nil, err
	}
	settings, err := h.Settings()
	if err != nil {
		return nil, err
	}
	a := k.ask
	if n.Model != "" {
		a.model, a.baseURL, a.models = n.Model, "", nil
	}
	a.thinking, a.approval = cmp.Or(n.Thinking, a.thinking), cmp.Or(n.Mode, a.approval)
	if err := a.check(); err != nil {
		return nil, err
	}
	o := a.wish()
	o.Ground.Dir, o.Resume, o.KeepPlan = n.Folder, resume, true
	o.Desk = session.NewDesk(session.DeskOptions{Wait: waits(settings), Timeout: time.Duration(settings.Int("ask.timeout")) * time.Second})
	leave := o.Desk.Attend() // clients will come: the model may ask them
	defer leave()
	return h.Open(context.WithoutCancel(ctx), o) // the session outlives the request
}

// isServer reports whether a word names a server: http://127.0.0.1:4647 or http://127.0.0.1:4647/ID.
func isServer(word string) bool {
	return strings.HasPrefix(word, "http://") || strings.HasPrefix(word, "https://")
}

// joinServer joins a session that a server has.
func joinServer(ctx context.Context, p *program, address, name string, rights remote.Rights) (session.Handle, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, usage("%q is not the address of a server: %w", address, err)
	}
	id := strings.Trim(u.Path, "/")
	u.Path = ""
	paths, err := config.FindPaths(p.getenv)
	if err != nil {
		return nil, err
	}
	token := p.getenv(tokenVariable)
	if token == "" {
		s, err := readServed(paths)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if s.URL != u.String() { // the token is for nobody else
			return nil, fmt.Errorf("no token for %s: set %s", u, tokenVariable)
		}
		token = s.Token
	}
	if u.Scheme == "http" && onlyHere(u.Host) != nil {
		return nil, fmt.Errorf("%s would carry the token in the clear: use https, or forward the port with ssh -L", u)
	}
	head := http.Header{"Authorization": {"Bearer " + token}}
	client, err := attachClient(paths)
	if err != nil {
		return nil, err
	}
	if id == "" {
		if id, err = newestServed(ctx, client, u, head); err != nil {
			return nil, err
		}
	}
	dial := func(ctx context.Context) (net.Conn, error) {
		ws, answer, err := websocket.Dial(ctx, u.JoinPath("v1/sessions", id, "attach").String(), &websocket.DialOptions{HTTPClient: client, HTTPHeader: head})
		if err != nil {
			if answer != nil {
				if said := problemOf(answer); said != nil {
					err = said
				}
			}
			return nil, fmt.Errorf("attach to %s: %w", u, err)
		}
		ws.SetReadLimit(-1) // the protocol has limits of its own
		return websocket.NetConn(context.WithoutCancel(ctx), ws, websocket.MessageText), nil
	}
	conn, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	c, err := remote.Connect(ctx, conn, name, rights)
	if err != nil {
		return nil, fmt.Errorf("attach to %s: %w", u, err)
	}
	c.Dial = dial
	return c, nil
}

// problemOf is the error that a server answers with.
func problemOf(answer *http.Response) error {
	var problem server.Problem
	if err := json.NewDecoder(answer.Body).Decode(&problem); err != nil || problem.Detail == "" {
		return nil
	}
	return errors.New(problem.Detail)
}

// newestServed is the session of a server that was changed last.
func newestServed(ctx context.Context, client *http.Client, u *url.URL, head http.Header) (string, error) {
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath("v1/sessions").String()+"?limit=1", nil)
	if err != nil {
		return "", err
	}
	ask.Header = head
	answer, err := client.Do(ask)
	if err != nil {
		return "", fmt.Errorf("ask %s for its sessions: %w; burin serve starts a server", u, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("ask %s for its sessions: %w", u, cmp.Or(problemOf(answer), errors.New(answer.Status)))
	}
	var list []server.Listed
	if err := json.NewDecoder(answer.Body).Decode(&list); err != nil {
		return "", fmt.Errorf("ask %s for its sessions: %w", u, err)
	}
	if len(list) == 0 {
		return "", fmt.Errorf("%s has no sessions", u)
	}
	return list[0].ID, nil
}
