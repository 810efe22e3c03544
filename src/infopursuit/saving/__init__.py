"""Models on disk: JSON and safetensors, written atomically."""
