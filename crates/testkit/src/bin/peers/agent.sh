# What every peer runs: `sh agent.sh`, with the prompt on standard input or as an argument. The file `mode` says what to do.
cd "$PEERS_TRIAL" || exit 9
mode=$(cat mode)
turn=$(($(cat turns 2>/dev/null || echo 0) + 1))
echo $turn >turns
case "$mode" in
    # Works in its second turn.
    works) [ $turn -lt 2 ] || { echo fixed >"$OLDPWD/state"; echo "<promise>COMPLETE</promise>"; } ;;
    # Says that it is done, and is not.
    lies) echo "<promise>COMPLETE</promise>" ;;
    # Repeats what it was asked, with its work done.
    echoes)
        echo fixed >"$OLDPWD/state"
        cat ;;
    # Never done.
    never) echo "still working" ;;
    # Writes so many MB.
    flood)
        echo fixed >"$OLDPWD/state"
        head -c "$(cat bytes)" /dev/zero | tr '\0' 'x' | fold -w 120
        echo
        echo "<promise>COMPLETE</promise>" ;;
    # Does not end.
    hangs)
        touch running
        exec sleep 120 ;;
    # Dies with its loop in its second turn, and works in the third.
    dies)
        echo "turn $turn" >>"$OLDPWD/work"
        [ $turn != 2 ] || { touch running; exec sleep 120; }
        [ $turn -lt 3 ] || { echo fixed >"$OLDPWD/state"; echo "<promise>COMPLETE</promise>"; } ;;
    # Says the promise in one of several forms, with its work done.
    says)
        echo fixed >"$OLDPWD/state"
        cat words
        exit "$(cat code)" ;;
esac
