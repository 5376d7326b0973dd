# Waits for a moment, as a stage that polls a service would.
sleep 0.3
