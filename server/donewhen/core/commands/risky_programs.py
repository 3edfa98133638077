"""The programs that `risks` knows: what publishes, installs, deletes."""

from __future__ import annotations

import re

from donewhen.core.commands.wrapped import words_of

VERDICTS = {
    "publish": "publishes",
    "install": "changes which packages are installed",
    "delete": "deletes what git may not be able to bring back",
}

_NODE = (
    "i in ins inst insta instal install isnt isntall install-test it ci cit clean-install add update up upgrade "
    "uninstall un unlink remove rm r link"
)
_NODE_MORE = ("global add", "global install", "dlx", "import", "create", "init")
_SYSTEM = (
    "install reinstall remove purge upgrade dist-upgrade full-upgrade autoremove update add del erase localinstall "
    "groupinstall tap bundle uninstall build-dep satisfy"
)
_PIP = ("install", "uninstall", "download", "wheel", "sync")
_CONDA = ("install", "create", "update", "upgrade", "remove", "env create", "env update")
_SYSTEM_PROGRAMS = words_of(
    "apt apt-get aptitude dnf yum microdnf zypper apk brew port snap flatpak choco winget scoop pkg eopkg"
)

VERBS: dict[str, dict[str, tuple[str, ...]]] = {
    "publish": {
        "npm": ("publish", "unpublish", "deprecate", "dist-tag", "owner", "access"),
        "pnpm": ("publish", "unpublish", "deprecate"),
        "yarn": ("publish", "npm publish", "npm tag", "unpublish"),
        "bun": ("publish",),
        "lerna": ("publish",),
        "changeset": ("publish",),
        "semantic-release": ("",),
        "release-it": ("",),
        "twine": ("upload", "register"),
        "cargo": ("publish", "yank", "release"),
        "poetry": ("publish",),
        "uv": ("publish",),
        "hatch": ("publish",),
        "flit": ("publish",),
        "pdm": ("publish",),
        "rye": ("publish",),
        "maturin": ("publish", "upload"),
        "setup.py": ("upload", "register"),
        "gem": ("push", "yank"),
        "docker": ("push", "image push", "manifest push", "compose push", "plugin push"),
        "podman": ("push", "image push", "manifest push"),
        "nerdctl": ("push", "image push"),
        "buildah": ("push",),
        "skopeo": ("copy", "sync", "delete"),
        "crane": ("push", "copy"),
        "oras": ("push",),
        "helm": ("push",),
        "dotnet": ("nuget push", "nuget delete"),
        "nuget": ("push", "delete"),
        "vsce": ("publish", "unpublish"),
        "ovsx": ("publish",),
        "anaconda": ("upload",),
        "pod": ("trunk push",),
        "mix": ("hex.publish",),
        "dart": ("pub publish",),
        "flutter": ("pub publish",),
        "goreleaser": ("release", "publish"),
        **dict.fromkeys(words_of("hg sl bzr brz fossil dvc docker-compose"), ("push",)),
        "jj": ("git push",),
        "svn": ("commit", "ci"),
        "wrangler": ("publish", "deploy"),
        "vercel": ("deploy", "publish", "--prod"),
        "netlify": ("deploy",),
        "firebase": ("deploy",),
        "fly": ("deploy",),
        "flyctl": ("deploy",),
    },
    "install": {
        "pip": _PIP,
        "uv": (
            *(f"pip {verb}" for verb in _PIP),
            "add", "remove", "sync", "tool install", "tool run", "tool upgrade", "tool uninstall", "python install",
        ),
        "uvx": ("",),
        "pipx": ("install", "run", "inject", "upgrade", "upgrade-all", "uninstall", "install-all", "reinstall"),
        "pipenv": ("install", "sync", "update", "uninstall", "upgrade"),
        "poetry": ("add", "install", "update", "remove", "sync", "self add", "self update"),
        "pdm": ("add", "install", "sync", "update", "remove"),
        "rye": ("add", "sync", "install", "remove"),
        "pixi": ("add", "install", "remove", "update", "global"),
        "conda": _CONDA,
        "mamba": _CONDA,
        "micromamba": _CONDA,
        "easy_install": ("",),
        "ensurepip": ("",),
        "setup.py": ("install", "develop"),
        "npm": (*_NODE.split(), "create", "exec -y", "exec --yes"),
        "pnpm": (*_NODE.split(), *_NODE_MORE),
        "yarn": (*_NODE.split(), *_NODE_MORE),
        "bun": (*_NODE.split(), "x", "create"),
        "bunx": ("",),
        "pnpx": ("",),
        "npx": ("--yes", "-y", "--package", "-p"),
        "deno": ("install", "add", "uninstall"),
        "corepack": ("enable", "install", "prepare", "use"),
        "volta": ("install", "pin"),
        "nvm": ("install",),
        "playwright": ("install", "install-deps"),
        **dict.fromkeys(_SYSTEM_PROGRAMS, tuple(_SYSTEM.split())),
        "dpkg": ("-i", "--install", "--unpack", "-r", "--remove", "--purge"),
        "rpm": ("-i", "-u", "-ivh", "-uvh", "-fvh", "-e", "--install", "--upgrade", "--erase"),
        "pacman": (
            *("-s", "-sy", "-syu", "-syyu", "-u", "-r", "-rs", "-rns", "-rnsc", "--sync", "--upgrade", "--remove"),
        ),
        "emerge": ("",),
        "nix-env": ("-i", "-ia", "--install"),
        "nix": ("profile install", "profile add"),
        "cargo": ("install", "binstall", "uninstall", "add", "update"),
        "rustup": ("install", "update", "toolchain install", "component add", "target add"),
        "go": ("install", "get"),
        "gem": ("i", "inst", "install", "update", "uninstall"),
        "bundle": ("install", "add", "update"),
        "bundler": ("install", "add", "update"),
        "composer": ("require", "install", "update", "remove", "global", "create-project"),
        "dotnet": ("add package", "tool install", "tool update", "workload install"),
        "nuget": ("install", "update"),
        "mix": ("deps.get", "archive.install"),
        "cpan": ("",),
        "cpanm": ("",),
        "luarocks": ("install", "remove"),
        "opam": ("install", "update", "upgrade", "remove"),
        "cabal": ("install",),
        "stack": ("install",),
        "conan": ("install",),
        "vcpkg": ("install",),
        "r": ("cmd install",),
        "install-module": ("",),
        "install-package": ("",),
    },
    "delete": {
        "docker": ("system prune", "volume prune", "volume rm", "image prune"),
        "podman": ("system prune", "volume prune", "volume rm"),
        "clear-content": ("",),
    },
}  # fmt: skip
"""By kind and program: the verbs that ask. The empty one is the program itself."""

_TASKS = ("publish", r"(?:\w+[:-])?(?:publish|release|deploy|upload|push)(?:[:-]\w+)*")
_GOALS = ("publish", r"(?:.*:)?(?:deploy|publish|upload|release)[\w:-]*")
_SETUP = ("install", r"install(?:-\w+)*|deps")

ANYWHERE: dict[str, tuple[tuple[str, str], ...]] = {
    **dict.fromkeys(words_of("invoke inv rake nox tox npm pnpm bun ant"), (_TASKS,)),
    **dict.fromkeys(words_of("make gmake just task go-task"), (_TASKS, _SETUP)),
    **dict.fromkeys(words_of("mvn mvnw gradle gradlew sbt"), (_GOALS,)),
    "yarn": (("install", r"workspaces?"), _TASKS),
    "setup.py": (("publish", r"upload|register"),),
    "docker": (("publish", r"--push|.*type=registry.*"),),
    "uv": (("install", r"--with(?:-editable|-requirements)?(?:=.*)?"),),
    "npx": (("install", r"(?:@[\w.-]+/)?[\w.-]+@[\w.^~-]+"),),
}
"""By program: the kind, and a pattern that one of its words may have anywhere."""

DELETERS = words_of("rm rmdir unlink shred srm truncate wipefs rimraf del-cli del erase rd remove-item deltree")
READ_ONLY_FORGE = words_of(
    "view list status diff checks show search browse download watch --version --help version help"
)
FETCHERS = re.compile(r"\b(?:curl|wget|fetch|iwr|irm|invoke-webrequest|base64|xxd)\b", re.IGNORECASE)
INTERPRETERS = re.compile(r"(?:python|pypy)[0-9.]*w?|py|node|deno|bun|perl[0-9.]*|ruby[0-9.]*|php[0-9.]*|lua[0-9.]*")

WORDS = re.compile(
    r"(?<![\w-])(?:rm|rmdir|unlink|shred|del|erase|rd|remove-item|truncate|mkfs[.\w]*|rmtree|removedirs|os\.remove|"
    r"push|publish|deploy|upload|install|uninstall|uvx|pipx|npx|pip[0-9.]*|--hard|-delete|--delete|restore|"
    r"fs\.rm\w*|unlinksync|rmsync|rmdirsync|fileutils)(?![\w-])",
    re.IGNORECASE,
)
