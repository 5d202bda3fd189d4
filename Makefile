# Everything a contributor types; `make help` lists it.
.DEFAULT_GOAL := help
