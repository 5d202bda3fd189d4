# needs: python3
# differs: *.pyc */RECORD
export SOURCE_DATE_EPOCH=1700000000 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
export PIP_ROOT_USER_ACTION=ignore PYTHONHASHSEED=0
/usr/bin/python3 -m venv --without-pip --symlinks venv
"$PIP" -m pip -q --python venv/bin/python install --no-index --no-deps "$DATA"/*.whl
venv/bin/greeting; venv/bin/python -c 'import greeting; print(greeting.__file__)'
"$PIP" -m pip -q --python venv/bin/python install --force-reinstall --no-index \
    --no-deps "$DATA"/*.whl
"$PIP" -m pip --python venv/bin/python list; venv/bin/greeting
"$PIP" -m pip -q --python venv/bin/python uninstall -y greeting
test ! -e venv/bin/greeting
