"""Text about a command is no command: it stands at the start of no view."""

import pytest
from core.shell_views import views

TWINS = {
    "echo": "echo rm -rf x",
    "echo in quotes": "echo 'rm -rf x'",
    "commit message": "git commit -m 'rm -rf x'",
    "commit message over lines": "git commit -m 'first\nrm -rf x\n'",
    "commit message with separators": 'git commit -m "a; rm -rf x && b | c"',
    "search": "grep -rn 'rm -rf x' docs",
    "comment": "ls # rm -rf x",
    "comment with a newline sign": "ls # \\\nls",
    "document": "cat <<E > doc.md\nrm -rf x\nE",
    "document, quoted delimiter": "cat > doc.md <<'E'\nrm -rf x\nE\nls",
    "document, tabs": "cat <<-E > doc.md\n\trm -rf x\n\tE",
    "document with another end": "cat <<E > doc.md\nE2\nrm -rf x\n E\nE",
    "two documents": "diff <(cat) - <<A <<B\nrm -rf x\nA\nrm -rf x\nB",
    "document to python": "python3 - <<E\nprint('rm -rf x')\nE",
    "here-string": "grep a <<< 'rm -rf x'",
    "printed by python": "python3 -c \"print('rm -rf x')\"",
    "value": "x='rm -rf x'; echo \"$x\"",
    "written and shown": "echo 'rm -rf x' > notes; cat notes",
    "case pattern": "case $1 in 'rm -rf x') ls;; esac",
    "pipe to less": "echo 'rm -rf x' | less",
    "pipe to tee": "echo 'rm -rf x' | tee notes",
    "substitution printed": 'echo "$(echo rm -rf x)"',
    "awk": "awk '/rm -rf x/ { print }' log",
    "sed": "sed -n '/rm -rf x/p' log",
    "find name": "find . -name 'rm -rf x'",
    "jq": "jq '.a | .b' <<< '{\"a\": \"rm -rf x\"}'",
    "node": "node -e \"console.log('rm -rf x')\"",
    "perl": "perl -ne 'print if /rm -rf x/' log",
    "git log": "git log --grep='rm -rf x' -S 'rm -rf x'",
    "sudo echo": "sudo echo 'rm -rf x'",
    "ssh echo": "ssh host \"echo 'rm -rf x'\"",
    "base64 shown": "echo cm0gLXJmIHg= | base64 -d",
    "brace text": "echo '{rm,-rf,x}'",
    "man": "man rm",
    "test": "[ \"$x\" = 'rm -rf x' ] && ls",
    "condition": "[[ $x == 'rm -rf x' ]] && ls",
}


@pytest.mark.parametrize("text", TWINS.values(), ids=TWINS.keys())
def test_text_about_a_command_is_no_command(text: str) -> None:
    assert not [view for view in views(text) if view.startswith("rm ")]
