package private_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/private"
)

func none(string) string { return "" }

func TestHolds(t *testing.T) {
	env := map[string]string{
		"XDG_CONFIG_HOME": "/data/config", "KUBECONFIG": "/k/one:/k/two", "DOCKER_CONFIG": "/d", "HISTFILE": "/dev/null", "GNUPGHOME": "/home/me",
		"CODEX_HOME": "/codex", "PGPASSFILE": "relative", "GRADLE_USER_HOME": "/gradle", "NETRC": "~/my.netrc", "XDG_RUNTIME_DIR": "/run/user/1000",
	}
	p := private.Find("/home/me", func(name string) string { return env[name] })
	for _, name := range strings.Fields(`
		/home/me/.env /home/me/.pgpass /home/me/.my.cnf /home/me/.mylogin.cnf /home/me/.vault-token /home/me/.cargo/credentials.toml
		/home/me/.terraform.d/credentials.tfrc.json /home/me/.terraformrc /home/me/.gem/credentials /home/me/.local/share/keyrings/login.keyring
		/home/me/.claude/.credentials.json /home/me/.codex/auth.json /home/me/.gemini/oauth_creds.json /home/me/.local/share/opencode/auth.json
		/home/me/.pi/agent/auth.json /home/me/.omp/agent/agent.db /home/me/.arcane/agent/secrets.yml /home/me/.gjc/agent/auth.json
		/home/me/.config/gh/hosts.yml /home/me/.config/hub /home/me/.config/op/config /home/me/.config/glab-cli/config.yml /home/me/.config/rclone/rclone.conf
		/home/me/.s3cfg /home/me/.boto /home/me/.oci/config /home/me/.bluemix/config.json /home/me/.config/doctl/config.yaml /home/me/.fly/config.yml
		/home/me/.netrc /home/me/.config/helm/registry/config.json /home/me/.npmrc /home/me/.yarnrc.yml /home/me/.pypirc /home/me/.config/composer/auth.json
		/home/me/.m2/settings.xml /home/me/.gradle/gradle.properties /home/me/.config/NuGet/NuGet.Config /home/me/.sbt/.credentials /home/me/.vault_pass.txt
		/home/me/.config/sops/age/keys.txt /home/me/.subversion/auth/svn.simple/x /home/me/.mozilla/firefox/p/logins.json /home/me/.config/google-chrome/Default/Cookies
		/home/me/snap/firefox/common/.mozilla/x /home/me/.var/app/org.mozilla.firefox/x /home/me/Library/Keychains/login.keychain-db /home/me/.thunderbird/p
		/home/me/.config/Slack/Cookies /home/me/.config/discord/x /home/me/.config/Signal/config.json /home/me/.bash_history /home/me/.zsh_history
		/home/me/.local/share/fish/fish_history /home/me/.python_history /home/me/.psql_history /home/me/.mysql_history /home/me/.node_repl_history /home/me/.lesshst
		/home/me/.local/state/bash/history /home/me/.local/state/zsh_history /home/me/.local/share/bash/history /home/me/.local/share/nu_history.txt /home/me/.local/state/zsh/history/1
		/etc/shadow /etc/gshadow /etc/sudoers /etc/sudoers.d/me /etc/ssh/ssh_host_rsa_key /root/.ssh/id_rsa /run/secrets/token /run/user/1000/containers/auth.json
		/HOME/ME/.PGPASS /data/config/gh/hosts.yml /k/one /k/two /d/config.json /codex/auth.json /gradle/gradle.properties /home/me/my.netrc
	`) {
		if !p.Holds(name) {
			t.Errorf("%s is not among the secret places", name)
		}
	}
	for _, name := range strings.Fields(`
		/home/me /home/me/project/main.go /home/me/.cargo/registry/x /home/me/.cargo/config.toml /home/me/.config /home/me/.bashrc /home/me/.gitconfig /home/me/.m2/repository/x
		/home/me/.gradle/caches/x /home/me/.docker /home/me/.claude/CLAUDE.md /home/me/.codex/config.toml /etc/passwd /etc/ssh/ssh_host_rsa_key.pub /etc/hosts / /dev/null
		/d/other /home/me/relative /home/me/.environment /home/me/.config/ghost
		/home/me/.local/state/nix/profile /home/me/.local/share/man/man1/x /home/me/.local/share/app/deep/history
	`) {
		if p.Holds(name) {
			t.Errorf("%s is among the secret places", name)
		}
	}
	if (*private.Places)(nil).Holds("/etc/shadow") {
		t.Error("no list holds something")
	}
}

func TestHidden(t *testing.T) {
	home := t.TempDir()
	write := func(name string) string {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, name := range []string{".pgpass", ".env.production", "backup.pem", ".vault_pass_prod", ".claude/.credentials.json", ".cargo/credentials.toml"} {
		if path := write(name); !slices.Contains(private.Find(home, none).Hidden(), path) {
			t.Errorf("%s is not hidden", name)
		}
	}
	// What builds read stays, and what does not exist is not listed.
	for _, name := range []string{".m2/settings.xml", ".gradle/gradle.properties", "notes.txt", ".env.example", ".cargo/config.toml"} {
		if path := write(name); slices.Contains(private.Find(home, none).Hidden(), path) {
			t.Errorf("%s is hidden", name)
		}
	}
	if slices.Contains(private.Find(home, none).Hidden(), filepath.Join(home, ".netrc")) {
		t.Error("a file that does not exist is listed")
	}
}

func TestNamed(t *testing.T) {
	for _, name := range []string{".env", "a/.ENV.local", ".env-prod", "prod.env", "server.pem", "a.p8", "id_ed25519", "deploy_rsa", "ssh_host_ecdsa_key", ".mylogin.cnf", "client_secret_12.json", ".env", "a/.env.local", ".ENV", "x.pem", "id_rsa", "a/id_ed25519", ".netrc", "credentials.json", "oauth_creds.json", ".vault_pass"} {
		if !private.Named(name) {
			t.Errorf("%s is not secret by its name", name)
		}
	}
	for _, name := range []string{".env.example", "example.env", "id_rsa.pub", "id_list.go", "environment.ts", ".environment", "keys.go", ".env.sample", "env", "id_card.go", "main.go", "", "credentials.go", "README.md", "."} {
		if private.Named(name) {
			t.Errorf("%s is secret by its name", name)
		}
	}
}

func BenchmarkHolds(b *testing.B) {
	p := private.Find("/home/me", none)
	for b.Loop() {
		p.Holds("/home/me/go/src/project/internal/platform/private/private.go")
	}
}

func BenchmarkHidden(b *testing.B) {
	home := b.TempDir()
	for b.Loop() {
		private.Find(home, none).Hidden()
	}
}

func BenchmarkFind(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		private.Find("/home/me", none)
	}
}
