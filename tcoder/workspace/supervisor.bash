# The session's shell. It reads a command from the control socket (descriptor 3), runs it in a forked child that has
# neither the socket nor the nonce, and answers with the exit code. What a child prints cannot be an answer, and what it
# does to itself (exit, exec, set -e, traps, functions) ends with it. Its working directory and exported variables are
# carried on as values; nothing that a child leaves behind is evaluated.
trap '' INT QUIT TSTP TTOU
__tcoder_state=$(mktemp /tmp/shell-state.XXXXXX) || exit 70
__tcoder_keep() {
  local code=$? names name
  {
    compgen -e >"$__tcoder_state" && mapfile -t names <"$__tcoder_state" || exit "$code"
    {
      printf '%s\0' "$PWD"
      for name in "${names[@]}"; do printf '%s=%s\0' "$name" "${!name}"; done
      printf 'end\0'
    } >"$__tcoder_state"
  } 2>/dev/null
  exit "$code"
}
__tcoder_carry() {
  local item items
  mapfile -d '' -t items <"$__tcoder_state"
  [ "${#items[@]}" -gt 1 ] && [ "${items[-1]}" = end ] || return
  cd -- "${items[0]}" 2>/dev/null
  for item in "${items[@]:1}"; do
    if [[ $item =~ ^[A-Za-z_][A-Za-z0-9_]*= && ! $item =~ ^(BASH|SHELLOPTS|IFS=|PS4=|PROMPT_COMMAND|__tcoder|TCODER_) ]]
    then export "$item"; fi
  done
}
while IFS= read -r -d '' -u 3 __tcoder_nonce && IFS= read -r -d '' -u 3 __tcoder_folder &&
  IFS= read -r -d '' -u 3 __tcoder_command; do
  : >"$__tcoder_state"
  (
    exec 3>&-
    unset __tcoder_nonce
    trap - INT QUIT TSTP TTOU
    trap __tcoder_keep EXIT
    if [ -n "$__tcoder_folder" ]; then cd -- "$__tcoder_folder" || exit 1; fi
    eval "$__tcoder_command"
  )
  __tcoder_code=$?
  __tcoder_carry
  printf '\036%s\036' "$__tcoder_nonce"
  printf '%s %s %s\0' "$__tcoder_nonce" "$__tcoder_code" "$PWD" >&3
done
