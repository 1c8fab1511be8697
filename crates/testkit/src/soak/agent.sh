# The agent of the soak: `sh agent.sh KIND`. It works, lies, crashes, hangs, floods, or leaves processes behind.
kind=$1
case "$WINDLASS_TURN" in
    *.auditor.*)
        printf 'Looked.\n\n```windlass-review\n{"verdict": "clean", "section_summary": {"done": ["it"]}}\n```\n'
        exit ;;
    *.acceptor.*)
        printf 'Looked.\n\n```windlass-review\n{"verdict": "accepted"}\n```\n'
        exit ;;
esac
turn=$(($(cat turns 2>/dev/null || echo 0) + 1))
echo $turn >turns
echo "working in turn $turn"
case "$kind" in
    crash) [ $((turn % 2)) = 0 ] || kill -9 $$ ;;
    hang) [ $turn != 1 ] || sleep 600 ;;
    flood) head -c 4000000 /dev/zero | tr '\0' 'x' | fold -w 120 ;;
    leftover) (sleep 300 &) ;;
esac
[ "$kind" = liar ] || [ $turn -lt 2 ] || echo fixed >state
sleep 1
printf '## ALL FEATURES COMPLETE\n\nDone.\n\n### Commits\n\n### Summary\nAll of it.\n\n'
echo '<promise>COMPLETE</promise>'
