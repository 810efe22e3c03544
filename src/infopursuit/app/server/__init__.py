"""Models over HTTP: a stateless JSON API and the page that uses it (extra ``server``)."""
