"""Merges the results of many nodes into one verdict; knows neither pytest nor GPUs."""
