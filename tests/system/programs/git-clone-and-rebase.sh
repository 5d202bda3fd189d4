# needs: git
# differs: .git/index */.git/index */.git/worktrees/*/index *.pack *.idx
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1

git init -q -b main origin; cd origin
git config gc.auto 0; git config maintenance.auto false
for each in 1 2 3 4 5 6; do
    mkdir -p "d$each"; seq "$each" 40 > "d$each/file"; echo "$each" >> common
    git add .; git commit -q -m "commit $each"
done
git checkout -q -b topic HEAD~3
for each in a b c; do echo $each > "$each"; git add .; git commit -q -m "topic $each"; done
echo other >> common; git commit -q -a -m conflict
cd ..
git clone -q "file://$PWD/origin" over-protocol
git clone -q origin linked; cd linked
git checkout -q topic; git rebase -q -X theirs origin/main
git mv d1 moved; git commit -q -m move; git rm -q -r d2; git commit -q -m remove
git stash -q 2>/dev/null || true; git gc -q; git fsck --full 2>/dev/null
git log --format='%H %s' --name-status; git status --short; git worktree add -q ../tree
