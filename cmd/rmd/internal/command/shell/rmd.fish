# fish completion for rmd: put it into ~/.config/fish/completions/rmd.fish
function __rmd_complete
    set -l typed (commandline -opc) (commandline -ct)
    for line in ($typed[1] __complete $typed[2..-1] 2>/dev/null)
        if test "$line" = ":files"
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end
complete -c rmd -f -a '(__rmd_complete)'
