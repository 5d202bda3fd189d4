# needs: python3
# differs: *.pyc */RECORD
# slow
/usr/bin/python3 -m venv venv && venv/bin/pip --version && venv/bin/pip list
