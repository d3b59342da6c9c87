# The commands for users. tools/ does the work, and all results are under build/.
.PHONY: build setup run test test-full install uninstall site clean

PREFIX ?= /usr/local

build: setup
	@tools/build

setup:
	@tools/setup

run: build
	@build/bin/copse bench

test: setup
	@build/venv/bin/python tools/test

test-full:
	@tools/setup --full
	@build/venv/bin/python tools/test --full

# Installs what has been built, for everybody to read. DESTDIR (empty, or a folder) goes before PREFIX, for packages.
install:
	@umask 022 && env -u PYTHONPATH -u PYTHONHOME cmake --install build/release --prefix "$(PREFIX)" --strip
	@rm -rf build/release/install/gathered build/release/install_manifest.txt  # they may be root's now

uninstall:
	@cmake -P "$(DESTDIR)$(PREFIX)/share/copse/uninstall.cmake"

# The documents as a site, in build/site. A warning, as of a link that leads nowhere, is an error.
site: setup
	@build/site-tools/bin/mkdocs build --strict --quiet

clean:
	rm -rf build
