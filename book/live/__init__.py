"""Python in the page: what is fetched and packed at build time, and what runs in a browser."""
