"""Networks: variational autoencoders, architectures, training, and the networks of the default."""
