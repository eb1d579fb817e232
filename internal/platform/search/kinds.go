package search

import (
	"fmt"
	"strings"
	"sync"

	"github.com/burin-dev/burin/internal/platform/search/ignore"
)

// kindTable names kinds of files, in a line each: its names and, behind the
// colon, the globs. The first names are those that ripgrep knows.
const kindTable = `
ada: *.adb *.ads
agda: *.agda *.lagda
asciidoc: *.adoc *.asc *.asciidoc
asm: *.asm *.s *.S
astro: *.astro
avro: *.avdl *.avpr *.avsc
awk: *.awk
bat batch: *.bat *.cmd
bazel: *.bazel *.bzl *.BUILD *.bazelrc BUILD MODULE.bazel WORKSPACE WORKSPACE.bazel WORKSPACE.bzlmod
bicep: *.bicep *.bicepparam
c: *.[chH] *.[chH].in *.cats
cabal: *.cabal
clojure clj: *.clj *.cljc *.cljs *.cljx *.edn
cmake: *.cmake CMakeLists.txt
coffeescript coffee: *.coffee
config: *.cfg *.conf *.config *.ini
coq: *.v
cpp c++: *.[ChH] *.cc *.[ch]pp *.[ch]xx *.hh *.inl *.[ChH].in *.cc.in *.[ch]pp.in *.[ch]xx.in *.hh.in *.cppm *.ixx
crystal: *.cr *.ecr Projectfile shard.yml
csharp cs c#: *.cs *.csx
cshtml: *.cshtml
csproj: *.csproj
css: *.css *.scss
csv: *.csv *.tsv
cuda: *.cu *.cuh
cython: *.pyx *.pxi *.pxd
d: *.d
dart: *.dart
devicetree: *.dts *.dtsi
dhall: *.dhall
diff: *.diff *.patch
docker dockerfile: *Dockerfile* *Containerfile*
dockercompose: docker-compose.yml docker-compose.*.yml compose.yaml compose.*.yaml
dotenv env: .env .env.* *.env
edn: *.edn
elisp: *.el
elixir: *.ex *.exs *.eex *.heex *.leex *.livemd
elm: *.elm
erb: *.erb
erlang: *.erl *.hrl
fish: *.fish
flatbuffers: *.fbs
fortran: *.f *.F *.f77 *.F77 *.pfo *.f90 *.F90 *.f95 *.F95
fsharp: *.fs *.fsx *.fsi
gleam: *.gleam
glsl: *.vert *.frag *.geom *.comp *.glsl *.tesc *.tese
gn: *.gn *.gni
go golang: *.go
gomod: go.mod go.sum go.work go.work.sum
gradle: *.gradle *.gradle.kts gradle.properties gradle-wrapper.* gradlew gradlew.bat
graphql gql: *.graphql *.graphqls *.gql
groovy: *.groovy *.gradle
h: *.h *.hh *.hpp
haml: *.haml
handlebars hbs: *.hbs *.handlebars
haskell hs: *.hs *.lhs *.cpphs *.c2hs *.hsc
hcl: *.hcl
html: *.htm *.html *.ejs *.xhtml
hy: *.hy
ini: *.ini *.cfg
java: *.java *.jsp *.jspx *.properties
jinja: *.j2 *.jinja *.jinja2
jl julia: *.jl
js javascript: *.js *.jsx *.mjs *.cjs *.vue
json: *.json *.jsonc *.json5 composer.lock *.sarif
jsonl: *.jsonl *.ndjson
jupyter notebook: *.ipynb *.jpynb
just: .justfile justfile *.just
kotlin kt: *.kt *.kts
lean: *.lean
less: *.less
license: LICENSE LICENSE[.-]* LICENCE LICENCE[.-]* COPYING COPYING[.-]* COPYRIGHT COPYRIGHT[.-]* NOTICE NOTICE[.-]* PATENTS PATENTS[.-]* UNLICENSE UNLICENSE[.-]* *[.-]LICENSE* EULA EULA[.-]* licen[cs]e licen[cs]e.*
lisp: *.el *.jl *.lisp *.lsp *.sc *.scm
lock: *.lock package-lock.json pnpm-lock.yaml npm-shrinkwrap.json
log: *.log
lua: *.lua
m4: *.ac *.m4
make makefile: [Gg][Nn][Uu]makefile [Mm]akefile [Gg][Nn][Uu]makefile.am [Mm]akefile.am [Gg][Nn][Uu]makefile.in [Mm]akefile.in *.mk *.mak
mako: *.mako *.mao
markdown md mdx: *.md *.mdown *.mdx *.mkd *.mkdn *.markdown
matlab: *.m
meson: meson.build meson_options.txt meson.options
mint: *.mint
mojo: *.mojo
ml ocaml: *.ml *.mli *.mll *.mly
msbuild: *.csproj *.fsproj *.vcxproj *.proj *.props *.targets *.sln
nim: *.nim *.nimf *.nimble *.nims
nix: *.nix
objc: *.h *.m
objcpp: *.h *.mm
org: *.org *.org_archive
pascal: *.pas *.dpr *.lpr *.pp *.inc
pdf: *.pdf
perl: *.perl *.pl *.PL *.plh *.plx *.pm *.t
php: *.php *.php3 *.php4 *.php5 *.php7 *.php8 *.pht *.phtml
po: *.po
pod: *.pod
postscript: *.eps *.ps
prisma: *.prisma
prolog: *.pl *.pro *.prolog *.P
protobuf proto: *.proto
ps powershell: *.cdxml *.ps1 *.ps1xml *.psd1 *.psm1
puppet: *.epp *.erb *.pp *.rb
purs: *.purs
py python: *.py *.pyi
qml: *.qml
r: *.R *.r *.Rmd *.Rnw *.rmd
racket: *.rkt
rdoc: *.rdoc
readme: README* *README readme*
reasonml: *.re *.rei
rescript: *.res *.resi
robot: *.robot
rst: *.rst
ruby rb: *.rb *.rbw *.gemspec *.rake .irbrc Gemfile Rakefile config.ru
rust rs: *.rs
sass: *.sass *.scss
scala: *.scala *.sbt
scheme: *.scm *.ss
sh shell bash: *.bash *.bashrc *.csh *.cshrc *.ksh *.kshrc *.sh *.tcsh *.zsh .bash_login .bash_logout .bash_profile .bashrc .cshrc .kshrc .login .logout .profile .tcshrc .zlogin .zlogout .zprofile .zshenv .zshrc bash_login bash_logout bash_profile bashrc profile zlogin zlogout zprofile zshenv zshrc
slim: *.slim *.skim
smarty: *.tpl
sml: *.sml *.sig
solidity: *.sol
spec: *.spec
sql: *.sql *.psql
starlark: *.star *.bzl
stylus: *.styl
svelte: *.svelte *.svelte.ts
sv: *.v *.vg *.sv *.svh *.h
svg: *.svg
swift: *.swift
swig: *.def *.i
systemd: *.automount *.conf *.device *.link *.mount *.path *.scope *.service *.slice *.socket *.swap *.target *.timer
taskfile: [Tt]askfile.yml [Tt]askfile.yaml [Tt]askfile.dist.yml [Tt]askfile.dist.yaml
tcl: *.tcl
tex latex: *.tex *.ltx *.cls *.sty *.bib *.dtx *.ins
textile: *.textile
tf terraform: *.tf *.tf.json *.tfvars *.tfvars.json *.auto.tfvars *.terraform.lock.hcl .terraformrc terraform.rc
thrift: *.thrift
toml: *.toml Cargo.lock
ts typescript: *.ts *.tsx *.cts *.mts
twig: *.twig
txt text: *.txt
typst: *.typ
vala: *.vala
vb: *.vb
verilog: *.v *.vh *.sv *.svh
vhdl: *.vhd *.vhdl
vim: *.vim .vimrc .gvimrc vimrc gvimrc _vimrc _gvimrc
vue: *.vue
webidl: *.idl *.webidl *.widl
wgsl: *.wgsl
wiki: *.mediawiki *.wiki
xml: *.xml *.xml.dist *.dtd *.xsl *.xslt *.xsd *.xjb *.rng *.sch *.xhtml
yacc: *.y
yaml yml: *.yaml *.yml
yang: *.yang
zig: *.zig *.zon
zsh: .zshenv .zlogin .zlogout .zprofile .zshrc zshenv zlogin zlogout zprofile zshrc *.zsh
`

// kinds reads the table when it is first asked for.
var kinds = sync.OnceValue(func() map[string][]string {
	m := map[string][]string{}
	for line := range strings.Lines(kindTable) {
		names, globs, _ := strings.Cut(strings.TrimSpace(line), ":")
		for _, name := range strings.Fields(names) {
			m[name] = strings.Fields(globs)
		}
	}
	return m
})

// kindRules keep files of the named kinds.
func kindRules(names []string) (*ignore.Rules, error) {
	var globs []string
	for _, name := range names {
		g, ok := kinds()[strings.ToLower(strings.TrimSpace(name))]
		if !ok {
			return nil, fmt.Errorf("unknown file type %q: use a glob such as %q", name, "*."+strings.TrimPrefix(name, "."))
		}
		globs = append(globs, g...)
	}
	return ignore.Globs(globs)
}
