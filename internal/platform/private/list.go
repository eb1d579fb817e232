package private

// homePlaces are files and folders below a home folder that commands must not read.
// Those below .config, .local/share, .local/state and .cache are also looked for
// where XDG_CONFIG_HOME and its like point.
const homePlaces = `
.env
.ssh
.gnupg
.password-store
.config/gopass
.local/share/gopass
.netrc
_netrc
.authinfo
.authinfo.gpg
.git-credentials
.config/git/credentials
.pki
.cert
.config/age
.config/sops/age
.age
.Xauthority

.local/share/keyrings
.gnome2/keyrings
.local/share/kwalletd
.kde/share/apps/kwallet
.config/1Password
.config/op
.op
.config/Bitwarden
.config/Bitwarden CLI
.config/keepassxc
.local/share/lpass
.lpass

.aws
.azure
.kube
.oci
.bluemix
.boto
.s3cfg
.gsutil
.config/gcloud
.config/rclone
.config/doctl
.digitalocean
.config/hcloud
.config/scw
.config/linode-cli
.config/heroku
.heroku
.fly
.config/netlify
.netlify
.local/share/com.vercel.cli
.config/.wrangler
.wrangler
.config/configstore
.config/firebase
.config/stripe
.config/ngrok
.ngrok2
.config/argocd
.argocd
.minikube/profiles
.rancher
.docker/config.json
.docker/contexts
.dockercfg
.config/containers/auth.json
.config/helm
.terraform.d/credentials.tfrc.json
.terraformrc
.pulumi/credentials.json
.vault-token
.chef
.databrickscfg
.snowsql
.snowflake
.dbt/profiles.yml
.modal.toml
.kaggle
.config/kaggle
.sentryclirc
.circleci/cli.yml
.travis/config.yml
.vault_pass*
.vault-pass*
.ansible_vault*
.ansible/vault*

.config/gh
.config/hub
.config/glab-cli
.config/tea
.config/github-copilot
.subversion/auth
.hgrc

.npmrc
.yarnrc.yml
.pypirc
.cargo/credentials
.cargo/credentials.toml
.gem/credentials
.local/share/gem/credentials
.bundle/config
.composer/auth.json
.config/composer/auth.json
.sbt/.credentials
.ivy2/.credentials
.hex/hex.config
.config/hatch
.config/pypoetry/auth.toml
.m2/settings-security.xml

.pgpass
.pg_service.conf
.my.cnf
.mylogin.cnf
.config/mongodb
.mongodb
.rediscli_auth

.claude/.credentials.json
.claude.json
.codex/auth.json
.codex/history.jsonl
.gemini/oauth_creds.json
.gemini/mcp-oauth-tokens.json
.gemini/.env
.qwen/oauth_creds.json
.qwen/.env
.local/share/opencode/auth.json
.local/share/opencode/mcp-auth.json
.pi/agent/auth.json
.omp/agent/auth.json
.omp/agent/agent.db
.omp/agent/.env
.omp/cache/auth-broker-snapshot.enc
.arcane/agent/auth.json
.arcane/agent/agent.db
.arcane/agent/secrets.yml
.gjc/agent/auth.json
.gjc/agent/agent.db
.shoulders/keys.env
.aider.conf.yml
.continue/config.json
.continue/config.yaml
.copilot/config.json
.factory/auth.json
.local/share/amp/secrets.json
.local/share/crush/crush.json
.config/goose/secrets.yaml
.config/io.datasette.llm/keys.json
.config/Code/User/globalStorage
.config/Code - Insiders/User/globalStorage
.config/VSCodium/User/globalStorage
.config/Cursor/User/globalStorage
.config/Claude
.huggingface
.ollama/id_ed25519

.mozilla
.config/google-chrome
.config/google-chrome-beta
.config/google-chrome-unstable
.config/chromium
.config/BraveSoftware
.config/microsoft-edge
.config/microsoft-edge-dev
.config/vivaldi
.config/opera
.config/mozilla
.librewolf
.zen
.waterfox
snap/firefox/common/.mozilla
snap/chromium/common/chromium
snap/brave/current/.config
snap/opera/current/.config
snap/thunderbird/common/.thunderbird
.var/app/org.mozilla.firefox
.var/app/io.gitlab.librewolf-community
.var/app/com.google.Chrome
.var/app/org.chromium.Chromium
.var/app/com.brave.Browser
.var/app/com.microsoft.Edge
.var/app/com.vivaldi.Vivaldi
.var/app/com.opera.Opera
.var/app/org.mozilla.Thunderbird
.var/app/com.slack.Slack
.var/app/com.discordapp.Discord
.var/app/org.signal.Signal
.thunderbird
.config/evolution
.local/share/evolution
.mutt
.muttrc
.config/mutt
.config/neomutt
.msmtprc
.config/msmtp
.mbsyncrc
.offlineimaprc
.fetchmailrc
.config/Slack
.config/discord
.config/Signal
.config/Element
.config/Microsoft/Microsoft Teams
.local/share/TelegramDesktop
.weechat
.config/weechat
.irssi
.bitcoin
.ethereum/keystore
.electrum
.config/solana

.bash_history
.bash_sessions
.zsh_history
.zsh_sessions
.zhistory
.histfile
.history
.sh_history
.ksh_history
.local/share/fish/fish_history
.local/share/atuin
.local/share/powershell/PSReadLine
.local/share/xonsh
.local/share/*history*
.local/share/*/*history*
.local/state/*history*
.local/state/*/*history*
.python_history
.ipython/profile_default/history.sqlite
.node_repl_history
.irb_history
.pry_history
.php_history
.psql_history
.mysql_history
.mariadb_history
.sqlite_history
.rediscli_history
.dbshell
.julia/logs/repl_history.jl
.Rhistory
.lesshst
.viminfo
.local/state/nvim/shada
.local/state/lesshst

Library/Keychains
Library/Cookies
Library/HTTPStorages
Library/Safari
Library/Containers/com.apple.Safari
Library/Messages
Library/Mail
Library/Accounts
Library/Thunderbird
Library/Application Support/Google/Chrome
Library/Application Support/Chromium
Library/Application Support/BraveSoftware
Library/Application Support/Microsoft Edge
Library/Application Support/Vivaldi
Library/Application Support/com.operasoftware.Opera
Library/Application Support/Arc
Library/Application Support/Firefox
Library/Application Support/Slack
Library/Application Support/discord
Library/Application Support/Signal
Library/Application Support/Claude
Library/Application Support/Code/User/globalStorage
Library/Application Support/Cursor/User/globalStorage
Library/Application Support/1Password
Library/Application Support/com.apple.TCC
Library/Group Containers/2BUA8C4S2C.com.1password

AppData/Roaming/Mozilla
AppData/Roaming/gcloud
AppData/Roaming/GitHub CLI
AppData/Roaming/Slack
AppData/Roaming/discord
AppData/Local/Google/Chrome/User Data
AppData/Local/Microsoft/Edge/User Data
AppData/Local/BraveSoftware
AppData/Roaming/Microsoft/Credentials
AppData/Local/Microsoft/Credentials
`

// buildPlaces may hold passwords, but builds read them for where packages come
// from, or they lie in a cache that builds write. Tools and commands that print them
// are a question; a confined build still reads them.
const buildPlaces = `
.m2/settings.xml
.gradle/gradle.properties
.gradle/init.gradle
.nuget/NuGet/NuGet.Config
.config/NuGet/NuGet.Config
.config/pip/pip.conf
.pip/pip.conf
.cache/huggingface/token
.cache/huggingface/stored_tokens
`

// systemPlaces belong to the machine. They are hidden where the user could read
// them: as root, or in a container that is given them.
const systemPlaces = `
/etc/shadow
/etc/shadow-
/etc/gshadow
/etc/gshadow-
/etc/master.passwd
/etc/sudoers
/etc/sudoers.d
/etc/security/opasswd
/etc/ssh/ssh_host_*_key
/etc/ssl/private
/etc/pki/tls/private
/etc/letsencrypt/archive
/etc/letsencrypt/keys
/etc/krb5.keytab
/etc/wireguard
/etc/openvpn
/etc/ppp/chap-secrets
/etc/ppp/pap-secrets
/etc/NetworkManager/system-connections
/etc/wpa_supplicant
/etc/mysql/debian.cnf
/etc/kubernetes/admin.conf
/etc/kubernetes/pki
/etc/rancher/k3s/k3s.yaml
/etc/docker/key.json
/etc/salt/pki
/run/secrets
/var/run/secrets
/var/lib/docker/swarm
/var/lib/kubelet/pki
/var/lib/sss/secrets
/var/lib/fprint
/var/lib/NetworkManager/secret_key
/var/db/dslocal
/var/spool/mail
/var/mail
/Library/Keychains
`

// variablePlaces are variables that say where a secret is, and what of the folder
// they name: nothing for the path itself. "*" marks a list of paths. One in
// parentheses is for builds.
const variablePlaces = `
AWS_SHARED_CREDENTIALS_FILE
AWS_CONFIG_FILE
AWS_WEB_IDENTITY_TOKEN_FILE
AZURE_CONFIG_DIR
BOTO_CONFIG
CLOUDSDK_CONFIG
GOOGLE_APPLICATION_CREDENTIALS
OCI_CLI_CONFIG_FILE
RCLONE_CONFIG
KUBECONFIG *
DOCKER_CONFIG config.json contexts
REGISTRY_AUTH_FILE
XDG_RUNTIME_DIR containers/auth.json keyring
HELM_CONFIG_HOME
HELM_REGISTRY_CONFIG
HELM_REPOSITORY_CONFIG
TF_CLI_CONFIG_FILE
VAULT_TOKEN_FILE
ANSIBLE_VAULT_PASSWORD_FILE
SOPS_AGE_KEY_FILE
GNUPGHOME
PASSWORD_STORE_DIR
OP_CONFIG_DIR
GH_CONFIG_DIR
GLAB_CONFIG_DIR
NETRC
CURL_HOME .netrc
PGPASSFILE
PGSERVICEFILE
MYSQL_HOME .my.cnf
MYSQL_TEST_LOGIN_FILE
CARGO_HOME credentials credentials.toml
NPM_CONFIG_USERCONFIG
npm_config_userconfig
COMPOSER_HOME auth.json
HEX_HOME hex.config
GRADLE_USER_HOME (gradle.properties) (init.gradle)
PIP_CONFIG_FILE ()
HF_HOME (token) (stored_tokens)
HF_TOKEN_PATH ()
CODEX_HOME auth.json history.jsonl
CLAUDE_CONFIG_DIR .credentials.json .claude.json
GEMINI_CLI_HOME .gemini/oauth_creds.json .gemini/.env
PI_CODING_AGENT_DIR auth.json agent.db
GJC_CODING_AGENT_DIR auth.json agent.db
WRANGLER_HOME
XAUTHORITY
HISTFILE
PYTHON_HISTORY
NODE_REPL_HISTORY
PSQL_HISTORY
MYSQL_HISTFILE
SQLITE_HISTORY
REDISCLI_HISTFILE
LESSHISTFILE
`
