from setuptools import Extension, setup

setup(name="demo", version="1.0", ext_modules=[Extension("demo", ["demo.c"])])
