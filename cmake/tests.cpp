// Empty. The target that owns the tests' precompiled headers needs a source.
