# bash completion for rmd: source it, or put it into /etc/bash_completion.d
_rmd() {
  local line="${COMP_LINE:0:COMP_POINT}" word cut="" files=""
  local -a typed
  read -ra typed <<<"$line"
  if [[ $line == *[[:space:]] ]]; then typed+=(""); fi
  local cur="${typed[${#typed[@]}-1]}"
  COMPREPLY=()
  # bash takes a word apart at colons and equals signs: node ids have the one, flags the other
  if [[ $COMP_WORDBREAKS == *:* && $cur == *:* ]]; then cut="${cur%"${cur##*:}"}"; fi
  if [[ $COMP_WORDBREAKS == *=* && $cur == *=* && ${#cut} -eq 0 ]]; then cut="${cur%"${cur##*=}"}"; fi
  while IFS= read -r word; do
    if [[ $word == :files ]]; then files=yes; continue; fi
    word="${word%%$'\t'*}"
    if [[ $word == "$cur"* ]]; then COMPREPLY+=("${word#"$cut"}"); fi
  done < <("${typed[0]}" __complete "${typed[@]:1}" 2>/dev/null)
  if [[ -n $files ]]; then
    local value="${cur#--*=}"
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$value")
  fi
}
complete -F _rmd rmd
