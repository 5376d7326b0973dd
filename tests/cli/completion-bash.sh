pitot completion bash >c && bash -n c && for word in run report history doctor --jobs --format; do grep -qF -e "$word" c || echo "no $word"; done
