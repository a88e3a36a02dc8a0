"""Huai et al. (2019), PrisCrowd: releases of claims through a privacy test."""
