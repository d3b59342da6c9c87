# The commands for users. tools/ does the work, and all results are under build/.
.PHONY: build setup run test test-full clean

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

clean:
	rm -rf build
